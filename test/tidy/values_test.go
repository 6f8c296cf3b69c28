package tidy

import (
	"fmt"
	"go/ast"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// valueRooms are the packages below protocol whose structs list their fields in tags. A wire tag has the field's name
// on the wire, and the limits in the field's call: wire:"subjects maxSubjects MaxSubject". Without a tag the name
// follows from the Go name, and there are no limits. "-" marks a field that is not on the wire, and "inline" a struct
// whose fields replace the struct. The second word is "left" for the end of a remaining time. For a timestamp, it is
// the name of the wall clock time.
var valueRooms = []string{"access", "host", "process", "rollout"}

const valuesHead = "// Code generated from the structs with wire tags by: go test ./test/tidy -run Values -update. " +
	"DO NOT EDIT.\n\npackage %s\n\nimport (\n%s\t\"github.com/signalbox/signalbox/protocol/field\"\n)\n"

// valueTypes are a package's types by name.
type valueTypes struct {
	t     *testing.T
	types map[string]ast.Expr
}

// TestFieldsOfValuesFollowFromTheirStructs: a struct below protocol with wire tags has the method Fields.
func TestFieldsOfValuesFollowFromTheirStructs(t *testing.T) {
	for _, room := range valueRooms {
		compareGenerated(t, "protocol/"+room+"/fields_gen.go", valuesOf(t, room))
	}
}

// valuesOf returns the file generated from a package's structs.
func valuesOf(t *testing.T, room string) []byte {
	v := &valueTypes{t: t, types: make(map[string]ast.Expr)}
	var names []string
	for _, file := range (&wireTypes{t: t}).parseRoom("protocol/" + room) {
		ast.Inspect(file, func(n ast.Node) bool {
			if ts, ok := n.(*ast.TypeSpec); ok {
				v.types[ts.Name.Name] = ts.Type
				names = append(names, ts.Name.Name)
			}
			return true
		})
	}
	var body strings.Builder
	for _, name := range names {
		of, ok := v.types[name].(*ast.StructType)
		if !ok || !strings.Contains(tagsOf(of), `wire:"`) {
			continue
		}
		receiver := strings.ToLower(name[:1])
		if receiver == "c" { // the coder's name
			receiver = strings.ToLower(name[:2])
		}
		body.WriteString("\n// Fields implements field.Value.\n")
		fmt.Fprintf(&body, "func (%s *%s) Fields(c field.Coder) {\n", receiver, name)
		for _, f := range of.Fields.List {
			for _, field := range f.Names {
				body.WriteString(v.call(f, receiver, field.Name))
			}
		}
		body.WriteString("}\n")
	}
	standard := ""
	if strings.Contains(body.String(), "math.") {
		standard = "\t\"math\"\n\n"
	}
	return formatted(t, fmt.Sprintf(valuesHead, room, standard)+body.String())
}

// tagsOf returns all tags in a struct.
func tagsOf(of *ast.StructType) string {
	var all strings.Builder
	for _, f := range of.Fields.List {
		if f.Tag != nil {
			all.WriteString(f.Tag.Value)
		}
	}
	return all.String()
}

// call returns the call for a field, as a line.
func (v *valueTypes) call(f *ast.Field, receiver, name string) string {
	var words []string
	if f.Tag != nil {
		tag, _ := strconv.Unquote(f.Tag.Value)
		words = strings.Fields(reflect.StructTag(tag).Get("wire"))
	}
	wire := wireName(name)
	if of, ok := f.Type.(*ast.SelectorExpr); ok && of.Sel.Name == "Duration" {
		wire += "_ms"
	}
	if len(words) > 0 {
		wire, words = words[0], words[1:]
	}
	switch wire {
	case "-":
		return ""
	case "inline":
		return fmt.Sprintf("%s.%s.Fields(c)\n", receiver, name)
	}
	limits := ""
	if len(words) > 0 {
		limits = ", " + strings.Join(words, ", ")
	}
	return v.typed(f.Type, strconv.Quote(wire), receiver+"."+name, limits)
}

// typed returns the call for a field with a type, a quoted name and limits.
func (v *valueTypes) typed(of ast.Expr, wire, field, limits string) string {
	plain := func(method string) string { return fmt.Sprintf("c.%s(%s, &%s%s)\n", method, wire, field, limits) }
	switch of := of.(type) {
	case *ast.ArrayType:
		item := of.Elt.(*ast.Ident).Name
		if method := map[string]string{"byte": "Bytes", "string": "Words", "uint64": "Numbers"}[item]; method != "" {
			return plain(method)
		}
		return fmt.Sprintf("field.List(c, %s, &%s%s, (*%s).Fields)\n", wire, field, limits, item)
	case *ast.SelectorExpr:
		switch of.Sel.Name {
		case "Timestamp":
			if wall := strings.TrimPrefix(limits, ", "); wall != "" {
				return fmt.Sprintf("c.Moment(%s, &%s)\nc.Wall(%q, &%[2]s)\n", wire, field, wall)
			}
			return plain("Moment")
		case "Time":
			return fmt.Sprintf("field.Time(c, %s, &%s)\n", wire, field)
		case "Duration":
			if limits == ", left" {
				return fmt.Sprintf("c.Left(%s, &%s)\n", wire, field)
			}
			return plain("Millis")
		}
	case *ast.Ident:
		if method := map[string]string{
			"string": "Text", "uint64": "Number", "int": "Count", "bool": "Flag",
		}[of.Name]; method != "" {
			return plain(method)
		}
		switch under := v.types[of.Name].(type) {
		case *ast.StructType:
			return fmt.Sprintf("c.Record(%s, %s.Fields)\n", wire, field)
		case *ast.Ident:
			if under.Name == "uint64" {
				return fmt.Sprintf("c.Number(%s, (*uint64)(&%s))\n", wire, field)
			}
			return fmt.Sprintf("field.Enum(c, %s, &%s%s)\n", wire, field, limits)
		case *ast.SelectorExpr: // an alias
			return v.typed(under, wire, field, limits)
		}
	}
	v.t.Errorf("%s has a type without a call", field)
	return ""
}
