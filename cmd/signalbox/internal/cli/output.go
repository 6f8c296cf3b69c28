package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
)

// Streams are a command's inputs and outputs, except its arguments.
type Streams struct {
	In          io.Reader
	Out, Err    io.Writer
	Environment []string // NAME=TEXT entries, as returned by os.Environ
	Version     string   // the program's version
}

// Variable returns an environment variable. An empty variable counts as unset.
func (s Streams) Variable(name string) string {
	// If a name occurs several times, the last entry counts, as in started processes.
	text := ""
	for _, line := range s.Environment {
		if n, t, ok := strings.Cut(line, "="); ok && n == name {
			text = t
		}
	}
	return text
}

// Formats for --output.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatJSON  = "json"
)

var formats = []string{formatTable, formatJSON, formatWide}

// ErrReaderGone: standard output's reader has closed it, as after | head. This is not a failure.
var ErrReaderGone = errors.New("the output was closed")

// JSON reports whether the format is json.
func (f *Frame) JSON() bool { return f.format == formatJSON }

// Wide reports whether the format is wide.
func (f *Frame) Wide() bool { return f.format == formatWide }

// Write writes data to standard output unchanged.
func (f *Frame) Write(data []byte) error { return written(f.Out.Write(data)) }

// Raw writes data to standard output unchanged. On a terminal, control characters are escaped, and the line is ended.
func (f *Frame) Raw(data []byte) error {
	if IsTerminal(f.Out) {
		data = []byte(strings.TrimSuffix(Escape(string(data)), "\n") + "\n")
	}
	return f.Write(data)
}

// Object writes a line of JSON in any output format, as package apijson encodes values.
func (f *Frame) Object(object any) error {
	text, err := apijson.Encode(object)
	if err != nil {
		return fmt.Errorf("cannot write JSON: %w", err)
	}
	return f.Write(printableJSON(append(text, '\n')))
}

// DoneOr shows a change's result; with JSON it prints the HTTP API's answer instead.
func (f *Frame) DoneOr(show func() error) error {
	if !f.JSON() {
		return show()
	}
	return f.Object(apijson.Done{Changed: true})
}

// Done prints that a change was made; with JSON it also prints the HTTP API's answer.
func (f *Frame) Done(changed bool, format string, args ...any) error {
	f.Say(format, args...)
	if !f.JSON() {
		return nil
	}
	return f.Object(apijson.Done{Changed: changed})
}

// YAML writes a value as a YAML file.
func (f *Frame) YAML(value any) error {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(value), e.Close()); err != nil {
		return fmt.Errorf("cannot write YAML: %w", err)
	}
	return f.Raw(b.Bytes())
}

// printableJSON replaces unprintable characters in JSON strings with escapes for the same characters: JSON allows all
// characters from a blank on, but terminals act on some.
func printableJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, unprintable) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for _, r := range string(text) {
		switch {
		case !unprintable(r):
			out = utf8.AppendRune(out, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// unprintable reports whether a character must be escaped. A line end is not inside a string.
func unprintable(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

// Line writes one line immediately, for output that arrives gradually: the object as JSON, or else the text.
func (f *Frame) Line(object any, format string, args ...any) error {
	if f.JSON() {
		return f.Object(object)
	}
	return f.Write(fmt.Appendf(nil, format+"\n", args...))
}

// Say writes a line to standard error for users. External text in the line cannot control the terminal.
func (f *Frame) Say(format string, args ...any) {
	fmt.Fprintln(f.Err, Escape(fmt.Sprintf(format, args...)))
}

// Rows is a list a command prints: in JSON a line per row, written by Add; otherwise a table, written by End.
type Rows struct {
	frame   *Frame
	columns []Column
	cells   [][]string
	err     error // from writing a row
}

// Rows begins a list; see Columns for the titles' form. The caller must call End.
func (f *Frame) Rows(titles ...string) *Rows {
	return &Rows{frame: f, columns: Columns(titles...)}
}

// Add adds a row: an object, and its cells, one per column, including wide columns. After a row that could not be
// written, later rows are ignored, and End returns the error.
func (r *Rows) Add(object any, cells ...any) {
	switch {
	case !r.frame.JSON():
		r.AddCells(cells...)
	case r.err == nil:
		r.err = r.frame.Object(object)
	}
}

// AddCells adds a row to a list that is always shown as a table.
func (r *Rows) AddCells(cells ...any) {
	row := make([]string, len(r.columns))
	for i := range row {
		row[i] = Cell(cells[i])
	}
	r.cells = append(r.cells, row)
}

// Text returns the table, to be embedded in other output.
func (r *Rows) Text() string {
	return tableText(r.columns, r.cells, r.frame.Wide(), func(s string) string { return r.frame.Paint(Bold, s) })
}

// EndAfter is End for a list an error may have cut short: rows before the error are shown, but an empty table is not.
func (r *Rows) EndAfter(err error) error {
	if err != nil && len(r.cells) == 0 {
		return errors.Join(err, r.err)
	}
	return errors.Join(err, r.End())
}

// End writes the table.
func (r *Rows) End() error {
	if r.frame.JSON() {
		return r.err
	}
	return r.frame.Write([]byte(r.Text()))
}

// AddAll adds all items of a list and ends the rows. If the list is cut short, the items before the error are shown
// too.
func AddAll[T any](rows *Rows, list iter.Seq2[T, error], add func(T)) error {
	for thing, err := range list {
		if err != nil {
			return rows.EndAfter(err)
		}
		if add(thing); rows.err != nil {
			break
		}
	}
	return rows.End()
}

// List adds a row of cells for every item and ends the rows.
func List[T any](rows *Rows, items []T, cells func(T) []any) error {
	for _, item := range items {
		rows.Add(item, cells(item)...)
	}
	return rows.End()
}

// Fields returns properties: names, each followed by its cell.
func Fields(pairs ...any) (fields []operation.Field) {
	for i := 0; i+1 < len(pairs); i += 2 {
		fields = append(fields, operation.Field{Name: pairs[i].(string), Cell: pairs[i+1]})
	}
	return fields
}

// Section returns a table with a heading, for Show.
func Section(title string, titles []string, rows [][]any) operation.Section {
	return operation.Section{Title: title, Titles: titles, Rows: rows}
}

// Map returns a function's results for all items, such as a table's rows.
func Map[T, R any](items []T, of func(T) R) (results []R) {
	for _, item := range items {
		results = append(results, of(item))
	}
	return results
}

// Find returns the first item the function accepts, nil if missing.
func Find[T any](items []T, is func(*T) bool) *T {
	for i := range items {
		if is(&items[i]) {
			return &items[i]
		}
	}
	return nil
}

// Show writes an object: as a line of JSON, or as a line per field, followed by the sections that have rows.
func (f *Frame) Show(object any, fields []operation.Field, sections ...operation.Section) error {
	if f.JSON() {
		return f.Object(object)
	}
	width := 0
	for _, field := range fields {
		width = max(width, len(field.Name))
	}
	var b strings.Builder
	for _, field := range fields {
		b.WriteString(f.Paint(Bold, field.Name) + strings.Repeat(" ", width-len(field.Name)) + columnGap +
			Cell(field.Cell) + "\n")
	}
	for _, s := range sections {
		if len(s.Rows) == 0 {
			continue
		}
		r := f.Rows(s.Titles...)
		for _, row := range s.Rows {
			r.AddCells(row...)
		}
		b.WriteString("\n" + s.Title + "\n" + r.Text())
	}
	return f.Write([]byte(b.String()))
}

// Cell formats a table cell: one line that is safe to show, or a dash for an empty value.
func Cell(cell any) string {
	var text string
	switch c := cell.(type) {
	case string:
		text = c
	case []byte:
		text = shorten(string(c))
	case []string:
		text = strings.Join(c, ",")
	case time.Time:
		if !c.IsZero() {
			text = c.UTC().Format(time.RFC3339)
		}
	case client.Timestamp:
		if c.Happened {
			text = operation.ShortTime(c.Ago)
		}
	case bool:
		text = "no"
		if c {
			text = "yes"
		}
	default:
		text = fmt.Sprint(c)
	}
	if text == "" {
		return "-"
	}
	return Safe(text)
}

// shownData is the maximum number of data bytes a table shows.
const shownData = 60

// shorten truncates data that is too long for a table.
func shorten(data string) string {
	if len(data) <= shownData {
		return data
	}
	return strings.ToValidUTF8(data[:shownData], "") + fmt.Sprintf("... (%d bytes)", len(data))
}

// written maps errors about a closed reader to ErrReaderGone.
func written(_ int, err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return ErrReaderGone
	}
	if err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}
