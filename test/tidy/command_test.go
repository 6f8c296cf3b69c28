package tidy

import (
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commandFile reads and writes command fields in the log. It is generated from the struct Command, and from the field
// bits.
const commandFile = "shard/command_gen.go"

const commandHead = "// Code generated from the struct Command by: go test ./test/tidy -run Command -update. " +
	"DO NOT EDIT.\n\npackage shard\n\nimport (\n\t\"encoding/binary\"\n\n" +
	"\t\"github.com/signalbox/signalbox/shard/internal/codec\"\n)\n"

// logForm is a field's log encoding: expressions that append field %s, and that read it.
type logForm struct{ write, read string }

// logForms are the encodings by field tag. The form own uses functions with the field's name.
var logForms = map[string]logForm{
	"byte":   {"append(dst, byte(%s))", "r.Byte()"},
	"short":  {"binary.LittleEndian.AppendUint16(dst, uint16(%s))", "r.Uint16()"},
	"word":   {"binary.LittleEndian.AppendUint64(dst, uint64(%s))", "r.Uint64()"},
	"number": {"binary.AppendUvarint(dst, uint64(%s))", "r.Number()"},
	"next":   {"binary.AppendUvarint(dst, %s+1)", "r.Number() - 1"},
	"bytes":  {"codec.AppendBytes(dst, %s)", "r.Bytes()"},
	"filled": {"codec.AppendBytes(dst, %s)", "r.filled()"},
}

// TestCommandFieldsFollowFromTheStruct: command fields are read as written.
func TestCommandFieldsFollowFromTheStruct(t *testing.T) {
	w := &wireTypes{t: t}
	var fields []*ast.Field
	var bits []string
	for _, file := range w.parseRoom("shard") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if of, ok := n.Type.(*ast.StructType); ok && n.Name.Name == "Command" {
					fields = of.Fields.List
				}
			case *ast.GenDecl:
				if names := constantNames(n); slices.Contains(names, "hasFlags") {
					bits = names
				}
			}
			return true
		})
	}
	compareGenerated(t, commandFile, commandOf(t, fields, bits))
}

// constantNames are the names in a constant block.
func constantNames(d *ast.GenDecl) (names []string) {
	for _, spec := range d.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			names = append(names, v.Names[0].Name)
		}
	}
	return names
}

// commandOf returns the file generated from Command's fields and the bit names.
func commandOf(t *testing.T, fields []*ast.Field, bits []string) []byte {
	t.Helper()
	var has, write, read strings.Builder
	last := -1
	for _, f := range fields {
		name := f.Names[0].Name
		bit := slices.Index(bits, "has"+name)
		if bit < 0 {
			continue // the level and the kind stand before the fields
		}
		if bit <= last {
			t.Errorf("%s stands behind a field with a higher bit", name)
		}
		last = bit
		mask := "has" + name
		for _, more := range []string{"hasMore", "hasFourth"} {
			if bit > slices.Index(bits, more) {
				mask += "|" + more
			}
		}
		there, appended, taken := fieldForms(t, f)
		fmt.Fprintf(&has, "\tif %s {\n\t\tf |= %s\n\t}\n", there, mask)
		fmt.Fprintf(&write, "\tif fields&has%s != 0 {\n\t\tdst = %s\n\t}\n", name, appended)
		fmt.Fprintf(&read, "\tif fields&has%s != 0 {\n\t\tc.%s = %s\n\t}\n", name, name, taken)
	}
	return formatted(t, commandHead+`
// fieldsOf returns the bits of all fields that are not zero.
func fieldsOf(c *Command) (f uint64) {
`+has.String()+`	return f
}

// appendFields appends the fields with the bits.
func appendFields(dst []byte, c *Command, fields uint64) []byte {
`+write.String()+`	return dst
}

// fields reads the fields with the bits.
func (r *reader) fields(c *Command, b *Batch, fields uint64) {
`+read.String()+`}
`)
}

// fieldForms returns a field's presence condition, and its append and read expressions.
func fieldForms(t *testing.T, f *ast.Field) (there, appended, taken string) {
	t.Helper()
	name, tag := f.Names[0].Name, ""
	if f.Tag != nil {
		text, _ := strconv.Unquote(f.Tag.Value)
		tag = reflect.StructTag(text).Get("log")
	}
	field, of := "c."+name, ""
	if named, ok := f.Type.(*ast.Ident); ok {
		of = named.Name
	}
	there = field + " != 0"
	switch _, list := f.Type.(*ast.ArrayType); {
	case list:
		there = "len(" + field + ") > 0"
		if tag == "" {
			tag = "bytes"
		}
	case of == "ClientRef":
		there = fmt.Sprintf("len(%[1]s.Address)+len(%[1]s.Name)+len(%[1]s.Version) > 0", field)
	case tag == "":
		tag = "number"
	}
	if tag == "own" {
		return there, fmt.Sprintf("append%s(dst, %s)", name, field), fmt.Sprintf("r.%s(b)", strings.ToLower(name))
	}
	form, known := logForms[tag]
	if !known {
		t.Fatalf("%s: there is no form %q", name, tag)
	}
	taken = form.read
	if of != "" && of != "uint64" {
		taken = of + "(" + taken + ")"
	}
	return there, fmt.Sprintf(form.write, field), taken
}
