package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fieldsFile lists message fields for the codec. Each listing is generated from its struct: fields are in wire order,
// with Go forms of their wire names. A tag adds facts missing from the type: a []byte's wire type, and the maximum
// value or length.
const fieldsFile = "protocol/fields_gen.go"

const fieldsHead = "// Code generated from the structs of messages by: go test ./test/tidy -run Messages -update. " +
	"DO NOT EDIT.\n\npackage protocol\n"

// wireTypes are the types in package protocol, as far as listings need them.
type wireTypes struct {
	t       *testing.T
	changed map[string]string // replacement sources
	structs map[string]*ast.StructType
	rooms   map[string]map[string]string // by struct: import paths by name
	small   map[string]bool              // byte-sized numbers, with package prefix if outside protocol
	lists   map[string]string            // lists by name, with their items
	items   map[string]bool              // list item structs
	byHand  map[string]bool              // TYPE.METHOD
	named   []string                     // fields whose listings are called by handwritten code; named like their types
	records []string                     // to be written
	uses    map[string]bool              // rooms with constants used in tags
}

// readWireTypes reads package protocol's sources, without tests and generated files. Sources in changed replace those
// in the tree.
func readWireTypes(t *testing.T, changed map[string]string) *wireTypes {
	t.Helper()
	w := &wireTypes{
		t: t, changed: changed, structs: make(map[string]*ast.StructType), rooms: make(map[string]map[string]string),
		small: make(map[string]bool), lists: make(map[string]string), items: make(map[string]bool),
		byHand: make(map[string]bool), uses: make(map[string]bool),
	}
	for _, file := range w.parseRoom("protocol") {
		imports := make(map[string]string)
		for _, i := range file.Imports {
			of, _ := strconv.Unquote(i.Path.Value)
			name := path.Base(of)
			if i.Name != nil {
				name = i.Name.Name
			}
			imports[name] = strings.TrimPrefix(of, "github.com/signalbox/signalbox/")
		}
		for _, d := range file.Decls {
			w.declare(d, imports)
		}
	}
	return w
}

// parseRoom parses a package's handwritten sources.
func (w *wireTypes) parseRoom(room string) (files []*ast.File) {
	names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(room), "*.go"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_gen.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if text, is := w.changed[path.Join(room, filepath.Base(name))]; is {
			source = []byte(text)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func (w *wireTypes) declare(d ast.Decl, imports map[string]string) {
	if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
		if of, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
			if name, ok := of.X.(*ast.Ident); ok {
				w.byHand[name.Name+"."+f.Name.Name] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if listing, ok := n.(*ast.SelectorExpr); ok && listing.Sel.Name == "fields" {
				if field, ok := listing.X.(*ast.SelectorExpr); ok {
					w.named = append(w.named, field.Sel.Name)
				}
			}
			return true
		})
		return
	}
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range g.Specs {
		ts, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		name := ts.Name.Name
		switch of := ts.Type.(type) {
		case *ast.StructType:
			w.structs[name], w.rooms[name] = of, imports
		case *ast.Ident:
			w.small[name] = of.Name == "uint8"
		case *ast.SelectorExpr:
			w.rooms[name] = imports
			w.small[name] = w.small[w.selected(name, of)]
		default:
			if item, is := listOf(of); is {
				w.lists[name] = item
			}
		}
	}
}

// listOf returns a list type's item type. Views are lists with items from another room.
func listOf(of ast.Expr) (item string, is bool) {
	index, ok := of.(*ast.IndexListExpr)
	if !ok {
		return "", false
	}
	switch index.X.(*ast.Ident).Name {
	case "List":
		return index.Indices[0].(*ast.Ident).Name, true
	case "Views":
		return "", true
	}
	return "", false
}

// selected loads the types in a selector's room, and returns the selected type's name in w.small.
func (w *wireTypes) selected(owner string, s *ast.SelectorExpr) string {
	room := w.rooms[owner][s.X.(*ast.Ident).Name]
	if key := room + ":"; !w.small[key] {
		w.small[key] = true
		for _, file := range w.parseRoom(room) {
			ast.Inspect(file, func(n ast.Node) bool {
				if ts, ok := n.(*ast.TypeSpec); ok {
					of, ok := ts.Type.(*ast.Ident)
					w.small[key+ts.Name.Name] = ok && of.Name == "uint8"
				}
				return true
			})
		}
	}
	return room + ":" + s.Sel.Name
}

var (
	innerWord = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	lastWord  = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)
	units     = strings.NewReplacer("Millis", "MS", "Micros", "US", "IDs", "Ids")
)

// wireName is a field's name on the wire.
func wireName(name string) string {
	name = innerWord.ReplaceAllString(units.Replace(name), "${1}_$2")
	return strings.ToLower(lastWord.ReplaceAllString(name, "${1}_$2"))
}

// listing returns the calls for a struct's fields, one per line.
func (w *wireTypes) listing(owner string) (lines []string) {
	for _, f := range w.structs[owner].Fields.List {
		tag := ""
		if f.Tag != nil {
			text, _ := strconv.Unquote(f.Tag.Value)
			tag = reflect.StructTag(text).Get("wire")
		}
		if len(f.Names) == 0 {
			lines = append(lines, w.embedded(f.Type))
		}
		for _, name := range f.Names {
			lines = append(lines, w.call(owner, f.Type, wireName(name.Name), "m."+name.Name, tag))
		}
	}
	return lines
}

// embedded returns the call for an embedded struct's fields, inlined into the message. A struct from another package
// lists its own fields.
func (w *wireTypes) embedded(of ast.Expr) string {
	if s, ok := of.(*ast.SelectorExpr); ok {
		return fmt.Sprintf("m.%s.Fields((*cold)(c))", s.Sel.Name)
	}
	name := of.(*ast.Ident).Name
	w.record(name)
	return fmt.Sprintf("m.%s.fields(c)", name)
}

// record marks a struct as needing a listing.
func (w *wireTypes) record(name string) {
	if !slices.Contains(w.records, name) {
		w.records = append(w.records, name)
	}
}

// call is the call for a field.
func (w *wireTypes) call(owner string, of ast.Expr, wire, field, tag string) string {
	form, most, bounded := strings.Cut(tag, " ")
	if room, _, qualified := strings.Cut(most, "."); qualified {
		w.uses[room] = true
	}
	if form == "data" { // bytes with a maximum set by the host
		form, most, bounded = "bytes", "c.dataMax", true
	}
	if form != "" && form != "most" {
		if bounded {
			return fmt.Sprintf("c.%s(%q, &%s, %s)", form, wire, field, most)
		}
		return fmt.Sprintf("c.%s(%q, &%s)", form, wire, field)
	}
	switch of := of.(type) {
	case *ast.SelectorExpr:
		if w.small[w.selected(owner, of)] {
			return fmt.Sprintf("enum(c, %q, &%s)", wire, field)
		}
		return fmt.Sprintf("c.value(%q, &%s)", wire, field)
	case *ast.ArrayType:
		return fmt.Sprintf("values(c, %q, &%s, %s)", wire, field, most)
	case *ast.IndexListExpr:
		item, is := listOf(of)
		if !is {
			w.t.Errorf("%s is neither a List nor Views", field)
		}
		return w.list(item, wire, field)
	}
	name := of.(*ast.Ident).Name
	switch item, isList := w.lists[name]; {
	case isList:
		return w.list(item, wire, field)
	case name == "Result":
		return fmt.Sprintf("c.result(&%s)", field)
	case w.structs[name] != nil:
		w.record(name)
		return fmt.Sprintf("c.record(%q, %s.fields)", wire, field)
	case w.small[name]:
		return fmt.Sprintf("enum(c, %q, &%s)", wire, field)
	}
	return fmt.Sprintf("c.%s(%q, &%s)", strings.TrimSuffix(name, "64"), wire, field)
}

// list is the codec's call for a field that is a list of items, or of views if the item's name is empty.
func (w *wireTypes) list(item, wire, field string) string {
	if item == "" {
		return fmt.Sprintf("viewsField(c, %q, &%s)", wire, field)
	}
	w.item(item)
	return fmt.Sprintf("listField(c, %q, &%s)", wire, field)
}

// item marks a struct as a list item.
func (w *wireTypes) item(name string) {
	if w.structs[name] != nil {
		w.items[name] = true
		w.record(name)
	}
}

// fieldsOf returns the file generated from a table's message structs.
func fieldsOf(t *testing.T, table string, changed map[string]string) []byte {
	t.Helper()
	w, rows := readWireTypes(t, changed), rowsOf(t, table)
	var body strings.Builder
	write := func(name, method string) {
		if w.structs[name] == nil {
			t.Errorf("no struct is called %s", name)
			return
		}
		if w.byHand[name+"."+method] {
			return
		}
		if lines := w.listing(name); len(lines) > 0 {
			fmt.Fprintf(&body, "\nfunc (m *%s) %s(c *codec) {\n%s\n}\n", name, method, strings.Join(lines, "\n"))
		} else {
			fmt.Fprintf(&body, "\nfunc (*%s) %s(*codec) {}\n", name, method)
		}
	}
	for _, request := range rows["requests"] {
		write(request, "requestFields")
		_, answer := answerOf(request)
		write(answer, "answerFields")
	}
	for _, push := range rows["pushes"] {
		write(push, "pushFields")
	}
	for _, item := range w.lists {
		w.item(item)
	}
	for _, name := range w.named {
		if w.structs[name] != nil {
			w.record(name)
		}
	}
	slices.Sort(w.records)
	for i := 0; i < len(w.records); i++ { // a listing may name further records
		write(w.records[i], "fields")
	}
	for _, name := range w.records {
		if w.items[name] && !w.byHand[name+".item"] {
			fmt.Fprintf(&body, "\nfunc (m *%s) item(c *codec) { c.record(\"\", m.fields) }\n", name)
		}
	}
	head := fieldsHead
	for _, room := range slices.Sorted(maps.Keys(w.uses)) {
		head += fmt.Sprintf("\nimport \"github.com/signalbox/signalbox/protocol/%s\"\n", room)
	}
	return formatted(t, head+body.String())
}

// TestFieldsOfMessagesFollowFromTheirStructs: the codec reads and writes the structs' fields.
func TestFieldsOfMessagesFollowFromTheirStructs(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(messagesTable)))
	if err != nil {
		t.Fatal(err)
	}
	compareGenerated(t, fieldsFile, fieldsOf(t, string(table), nil))
}
