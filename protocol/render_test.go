package protocol

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/field"
)

// The tests compare messages by a tree that resembles JSON: maps by field name, lists, strings, bools, and numbers as
// uint64. The tree comes from the Go structs by reflection, or from another msgpack implementation's output; neither
// uses the codec.

// contents returns a list's items, for reflection.
type contents interface {
	contents() []any
	grow(n int, set func(item any))
}

func (l *List[T, P]) contents() []any {
	var items []any
	for item := range l.All() {
		items = append(items, &item)
	}
	return items
}

// contents returns the values as appended: seen at the start of shard time.
func (v *Views[T, P]) contents() []any {
	var items []any
	for item := range v.All(0) {
		items = append(items, P(&item))
	}
	return items
}

func (v *Views[T, P]) grow(n int, set func(item any)) {
	for range n {
		var item T
		set(P(&item))
		v.Append(item)
	}
}

func (l *List[T, P]) grow(n int, set func(item any)) {
	for range n {
		var item T
		set(&item)
		l.Append(item)
	}
}

// renderStruct renders the struct that v points to. The struct's fields and the wire's fields must match one to one.
func renderStruct(t *testing.T, v any, fields []wireField) map[string]any {
	t.Helper()
	if of, ok := below(v); ok {
		return renderSaid(of)
	}
	values := make(map[string]reflect.Value)
	collect(values, reflect.ValueOf(v).Elem())
	tree := make(map[string]any)
	said := map[string]any{}
	if of, ok := values[embedded]; ok {
		said = renderSaid(of.Addr().Interface().(field.Value))
		delete(values, embedded)
	}
	for _, f := range fields {
		if value, ok := said[f.Name]; ok {
			tree[f.Name] = value
			delete(said, f.Name)
			continue
		}
		value, ok := values[f.Name]
		if !ok {
			t.Fatalf("%T has no field for %q", v, f.Name)
		}
		tree[f.Name] = renderValue(t, value, f)
		delete(values, f.Name)
	}
	for name := range values {
		t.Fatalf("%T: field %q is not on the wire", v, name)
	}
	for name := range said {
		t.Fatalf("%T: field %q is not on the wire", v, name)
	}
	return tree
}

// below returns a value from a package below protocol, and false for a message or record in this package.
func below(v any) (of field.Value, ok bool) {
	if reflect.TypeOf(v).Elem().PkgPath() == reflect.TypeFor[Request]().PkgPath() {
		return nil, false
	}
	of, ok = v.(field.Value)
	return of, ok
}

// embedded is the field name for the embedded value from a package below protocol.
const embedded = "embedded"

// collect finds a struct's fields by their wire names. A Result is a status and the record with the rest.
func collect(values map[string]reflect.Value, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Anonymous && reflect.PointerTo(f.Type).Implements(reflect.TypeFor[field.Value]()):
			values[embedded] = v.Field(i)
		case f.Anonymous:
			collect(values, v.Field(i))
		case f.Type == reflect.TypeFor[Result]():
			values["status"] = v.Field(i).FieldByName("Status")
			values["detail"] = v.Field(i)
		case f.Type == reflect.TypeFor[Moved]():
			collect(values, v.Field(i))
		default:
			values[wireName(f.Name)] = v.Field(i)
		}
	}
}

// wireName turns a Go name into the wire's: SessionID is session_id, TimeoutMillis is timeout_ms.
func wireName(name string) string {
	name = strings.Replace(name, "IDs", "Ids", 1)
	name = strings.Replace(name, "ID", "Id", 1)
	name = strings.Replace(name, "Millis", "Ms", 1)
	name = strings.Replace(name, "Micros", "Us", 1)
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func renderValue(t *testing.T, v reflect.Value, f wireField) any {
	t.Helper()
	switch f.Type {
	case "uint":
		return v.Uint()
	case "bool":
		return v.Bool()
	case "text":
		if v.Kind() == reflect.String {
			return v.String()
		}
		return string(v.Bytes())
	case "bytes":
		return hex.EncodeToString(v.Bytes())
	case "record":
		if v.Type() == reflect.TypeFor[Result]() {
			detail := *v.Addr().Interface().(*Result)
			withoutStatus := struct {
				Message    string
				WaitMillis uint64
				Reason     AbortReason
				Moved      Moved
				Quota      Quota
				Since      uint64
			}{detail.Message, detail.WaitMillis, detail.Reason, detail.Moved, detail.Quota, detail.Since}
			return renderStruct(t, &withoutStatus, f.Fields)
		}
		return renderStruct(t, v.Addr().Interface(), f.Fields)
	case "list":
		items := []any{}
		if v.Kind() == reflect.Slice {
			for i := range v.Len() {
				items = append(items, renderSaid(v.Index(i).Addr().Interface().(field.Value)))
			}
			return items
		}
		for _, item := range v.Addr().Interface().(contents).contents() {
			if f.Fields[0].Name == "" {
				items = append(items, renderValue(t, reflect.ValueOf(item).Elem(), f.Fields[0]))
			} else {
				items = append(items, renderStruct(t, item, f.Fields))
			}
		}
		return items
	}
	t.Fatalf("field %q is of type %q", f.Name, f.Type)
	return nil
}

// renderValues renders an array from a msgpack decoder. Missing values are zero.
func renderValues(t *testing.T, values []any, fields []wireField) map[string]any {
	t.Helper()
	if len(values) > len(fields) {
		t.Fatalf("%d values for %d fields", len(values), len(fields))
	}
	tree := make(map[string]any)
	for i, f := range fields {
		var value any
		if i < len(values) {
			value = values[i]
		}
		tree[f.Name] = renderDecoded(t, value, f)
	}
	return tree
}

func renderDecoded(t *testing.T, value any, f wireField) any {
	t.Helper()
	switch f.Type {
	case "uint":
		switch n := value.(type) {
		case nil:
			return uint64(0)
		case int64:
			return uint64(n)
		case uint64:
			return n
		}
	case "bool":
		b, ok := value.(bool)
		if ok || value == nil {
			return b
		}
	case "text":
		s, ok := value.(string)
		if ok || value == nil {
			return s
		}
	case "bytes":
		b, ok := value.([]byte)
		if ok || value == nil {
			return hex.EncodeToString(b)
		}
	case "record":
		values, ok := value.([]any)
		if ok || value == nil {
			return renderValues(t, values, f.Fields)
		}
	case "list":
		values, ok := value.([]any)
		if !ok && value != nil {
			break
		}
		items := []any{}
		for _, v := range values {
			if f.Fields[0].Name == "" {
				items = append(items, renderDecoded(t, v, f.Fields[0]))
			} else {
				items = append(items, renderValues(t, v.([]any), f.Fields))
			}
		}
		return items
	}
	t.Fatalf("field %q of type %s came as %T", f.Name, f.Type, value)
	return nil
}

// renderMessage renders a message that the codec read or that a test made up.
func renderMessage(t *testing.T, kind Kind, result *Result, m any) map[string]any {
	t.Helper()
	if m == nil {
		outcome := struct{ Result Result }{*result}
		return renderStruct(t, &outcome, schema(t, KindPing.Answer()))
	}
	fields := schema(t, kind)
	if !kind.IsAnswer() {
		return renderStruct(t, m, fields)
	}
	outcome := struct{ Result Result }{*result}
	tree := renderStruct(t, &outcome, fields[:2])
	for name, value := range renderStruct(t, m, fields[2:]) {
		tree[name] = value
	}
	return tree
}

// same fails the test at the first difference between two trees.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %s\nwant %s", what, brief(got), brief(want))
	}
}

// brief prints a tree, and cuts the middle from long text.
func brief(tree any) string {
	text := fmt.Sprint(tree)
	if len(text) > 2000 {
		text = text[:1000] + " ... " + strconv.Itoa(len(text)-2000) + " more ... " + text[len(text)-1000:]
	}
	return text
}
