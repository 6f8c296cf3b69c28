package protocol

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pageSchema is testdata/schema.json, which another test compares with the code.
type pageSchema struct {
	Statuses []struct {
		Number      int
		Name, Retry string
	}
	Enums []struct {
		Name   string
		Values map[string]string
	}
	Limits   map[string]json.RawMessage
	Records  map[string][]pageField
	Messages []struct {
		Name, Type string
		Kind       int
		Fields     []pageField
	}
}

type pageField struct {
	Index                         int
	Name, Type, Of, Record, Names string
	Max                           json.RawMessage
}

func (f pageField) row() []string {
	typ, limit := f.Type, plainNumber(f.Max)
	switch {
	case f.Of == "record":
		typ = "list of " + linkTo(f.Record, "record")
	case f.Of != "":
		typ = "list of " + f.Of
	case f.Record != "":
		typ = linkTo(f.Record, "record")
	case f.Names == "Status":
		typ, limit = "[Status](#statuses)", ""
	case f.Names != "":
		typ, limit = linkTo(f.Names, "enum"), ""
	}
	return []string{strconv.Itoa(f.Index), f.Name, typ, limit}
}

// plainNumber returns a schema number without quotes, which the schema uses for numbers beyond a double.
func plainNumber(n json.RawMessage) string { return strings.Trim(string(n), `"`) }

func linkTo(name, kind string) string {
	return fmt.Sprintf("[%s](#%s-%s)", name, kind, strings.ToLower(name))
}

// A pageTable is a generated table: its rows without the last, handwritten column. The cell in column key identifies a
// row when the table is regenerated.
type pageTable struct {
	columns []string
	key     int
	rows    [][]string
}

func fieldTable(fields []pageField) pageTable {
	table := pageTable{columns: []string{"index", "field", "type", "limit", "meaning"}, key: 1}
	for _, f := range fields {
		table.rows = append(table.rows, f.row())
	}
	return table
}

// tables returns the tables generated from the schema, by heading.
func (s pageSchema) tables() map[string]pageTable {
	tables := make(map[string]pageTable)
	for _, m := range s.Messages {
		tables[fmt.Sprintf("%s (%d)", m.Name, m.Kind)] = fieldTable(m.Fields)
	}
	for name, fields := range s.Records {
		tables["record "+name] = fieldTable(fields)
	}
	for _, e := range s.Enums {
		table := pageTable{columns: []string{"number", "name", "meaning"}}
		for n := range 256 {
			if name, ok := e.Values[strconv.Itoa(n)]; ok {
				table.rows = append(table.rows, []string{strconv.Itoa(n), name})
			}
		}
		tables["enum "+e.Name] = table
	}
	statuses := pageTable{columns: []string{"number", "status", "retry", "meaning"}}
	for _, st := range s.Statuses {
		statuses.rows = append(statuses.rows, []string{strconv.Itoa(st.Number), st.Name, st.Retry})
	}
	tables["Statuses"] = statuses
	bounds := pageTable{columns: []string{"in the Go package", "limit", "meaning"}}
	for _, name := range slices.Sorted(maps.Keys(s.Limits)) {
		bounds.rows = append(bounds.rows, []string{name, plainNumber(s.Limits[name])})
	}
	tables["Reference: limits"] = bounds
	return tables
}

// cellsOf returns the cells in a table line.
func cellsOf(line string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func lineOf(cells []string) string {
	line := "|"
	for _, c := range cells {
		if c != "" {
			line += " " + c
		}
		line += " |"
	}
	return line + "\n"
}

// render returns the table's lines, with the meanings from the table on the page.
func (p pageTable) render(old []string) string {
	meanings := make(map[string]string)
	for _, line := range old {
		if cells := cellsOf(line); len(cells) == len(p.columns) {
			meanings[cells[p.key]] = cells[len(cells)-1]
		}
	}
	if len(p.rows) == 0 {
		return ""
	}
	dashes := slices.Repeat([]string{"---"}, len(p.columns))
	text := lineOf(p.columns) + lineOf(dashes)
	for _, row := range p.rows {
		text += lineOf(append(slices.Clone(row), meanings[row[p.key]]))
	}
	return text
}

// Between these lines, the tables below headings in the schema are generated.
const (
	tablesBegin = "<!-- generated tables: go test ./protocol -run Page -update writes all columns but the last -->\n"
	tablesEnd   = "<!-- end of generated tables -->\n"
)

// withTables returns the page with its tables regenerated, and the headings with a generated table.
func withTables(text string, tables map[string]pageTable) (page string, written map[string]bool) {
	var out strings.Builder
	written = make(map[string]bool)
	heading, generated := "", false
	var old []string // lines of the replaced table
	for line := range strings.Lines(text) {
		if len(old) > 0 && strings.HasPrefix(line, "|") {
			old = append(old, line)
			continue
		}
		if len(old) > 0 {
			out.WriteString(tables[heading].render(old))
			old = nil
		}
		switch title := headingOf(line); {
		case line == tablesBegin, line == tablesEnd:
			generated = line == tablesBegin
		case title != "":
			heading = title
		case generated && line == lineOf(tables[heading].columns):
			old, written[heading] = []string{line}, true
			continue
		}
		out.WriteString(line)
	}
	return out.String(), written
}

// TestPageHasTheTablesOfTheSchema: the tables between markers in docs/protocol.md match testdata/schema.json. The
// headings, the text and the last column are handwritten.
func TestPageHasTheTablesOfTheSchema(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s pageSchema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	tables, d := s.tables(), readDocs(t)
	page, written := withTables(d.text, tables)
	for heading, table := range tables {
		if !slices.Contains(d.order, heading) {
			t.Errorf("%s has no heading %q", docsPage, heading)
		} else if written[heading] != (len(table.rows) > 0) {
			t.Errorf("%s, %q: table: %t; a table begins with %q, and stands between the markers", docsPage, heading,
				written[heading], lineOf(table.columns))
		}
	}
	for heading := range written {
		if len(tables[heading].rows) == 0 {
			t.Errorf("%s, %q: the schema has no such table", docsPage, heading)
		}
	}
	compareFile(t, docsPage, []byte(page))
}

// TestPageKeepsMeanings: a regenerated table keeps the last column for surviving rows.
func TestPageKeepsMeanings(t *testing.T) {
	tables := map[string]pageTable{"enum Color": {
		columns: []string{"number", "name", "meaning"}, rows: [][]string{{"1", "RED"}, {"2", "BLUE"}},
	}}
	const head, tail = tablesBegin + "### enum Color\n\ntext\n\n| number | name | meaning |\n", "\nmore\n" + tablesEnd
	before := head + "| 1 | OLD | like fire |\n| 3 | GONE | x |\n" + tail
	want := head + "| --- | --- | --- |\n| 1 | RED | like fire |\n| 2 | BLUE | |\n" + tail
	if got, _ := withTables(before, tables); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPageListsRetryClasses: the statuses use exactly the retry classes that the page explains.
func TestPageListsRetryClasses(t *testing.T) {
	_, section, _ := strings.Cut(readDocs(t).text, "\n## Statuses\n")
	section, _, _ = strings.Cut(section, tablesBegin)
	var got []string
	for line := range strings.Lines(section) {
		cells := cellsOf(line)
		if strings.HasPrefix(line, "| ") && len(cells) == 2 && cells[0] != "class" && cells[0] != "---" {
			got = append(got, cells[0])
		}
	}
	used := make(map[string]bool)
	for _, st := range knownStatuses() {
		used[st.Retry().String()] = true
	}
	if want := slices.Sorted(maps.Keys(used)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("the page explains %v, want %v", got, want)
	}
}
