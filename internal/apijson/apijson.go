// Package apijson encodes Go values as JSON, decodes them, and describes them as JSON schemas. The HTTP API and the
// command line use it, so a field has the same name in both.
//
// JSON names are field names in lower case with underscores. 64-bit integers are text, because many JSON readers keep
// only 53 bits. A duration is in milliseconds with the name suffix _ms; a time is RFC 3339 text. Bytes are text if they
// are UTF-8, and otherwise base64 with the name suffix _base64. An enum is its word, a bit set is a list of bit names,
// and a type with MarshalText is its text. Zero is omitted, except for booleans, lists, meaningful words (such as
// idle), ids (fields named id and shard: the meta shard's id is 0), and standalone values. The tag omit:"zero" marks an
// id for which 0 means none, and omit:"never" a field that every answer has.
package apijson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Field is a structure field in JSON.
type Field struct {
	Name     string
	Index    []int
	Of       reflect.Type
	About    string // for people
	Required bool   // in a request
	Always   bool   // never omitted, even if zero
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	bytesType    = reflect.TypeFor[[]byte]()
	errorType    = reflect.TypeFor[error]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	stringerType = reflect.TypeFor[fmt.Stringer]()
	textType     = reflect.TypeFor[encoding.TextMarshaler]()
	namedType    = reflect.TypeFor[interface{ Names() []string }]()
)

// knownFields caches the fields of requested structures, which are all defined in the program.
var knownFields sync.Map

// Fields returns a structure's fields, including embedded structures. The list must not be changed.
func Fields(t reflect.Type) []Field {
	if known, ok := knownFields.Load(t); ok {
		return known.([]Field)
	}
	all := fieldsIn(t, nil)
	knownFields.Store(t, all)
	return all
}

// fieldsIn lists the fields in a structure at an index within the requested structure. A field with the tag inline
// counts as embedded, because Go cannot embed a type parameter.
func fieldsIn(t reflect.Type, at []int) (all []Field) {
	for _, f := range reflect.VisibleFields(t) {
		index := append(at[:len(at):len(at)], f.Index...)
		switch {
		case !f.IsExported() || f.Anonymous && structure(f.Type):
		case f.Tag.Get("inline") != "":
			all = append(all, fieldsIn(pointed(f.Type), index)...)
		default:
			all = append(all, Field{nameOf(f), index, f.Type, f.Tag.Get("about"), f.Tag.Get("need") != "", always(f)})
		}
	}
	return all
}

// always reports whether a field is never omitted: the tag says so, or the field is an id, whose zero value is a valid
// id.
func always(f reflect.StructField) bool {
	name, omit := nameOf(f), f.Tag.Get("omit")
	return omit == "never" || omit == "" && f.Type.Kind() == reflect.Uint64 && (name == "id" || name == "shard")
}

// everything stands for the count, and the limit, without a bound: programs need not know the number.
const everything = "all"

// unbounded is the count, and the limit, without a bound: client.All.
const unbounded = math.MaxUint64

// counts reports whether a field is a semaphore limit or count.
func (f *Field) counts() bool {
	return f.Of.Kind() == reflect.Uint64 && (f.Name == "limit" || f.Name == "count")
}

// pointed returns a pointer type's element type, or the type itself.
func pointed(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// structure reports whether a type is a structure with fields in JSON.
func structure(t reflect.Type) bool {
	t = pointed(t)
	return t.Kind() == reflect.Struct && !isText(t)
}

// isText reports whether values are text in JSON although their Go kind differs: times, bytes, words, and types with
// MarshalText.
func isText(t reflect.Type) bool {
	return t == timeType || t == bytesType || worded(t) || t.Implements(textType)
}

// nameOf returns a field's JSON name.
func nameOf(f reflect.StructField) string {
	name := f.Tag.Get("name")
	if name == "" {
		name = underscored(f.Name)
	}
	if f.Type == durationType || f.Type == reflect.PointerTo(durationType) {
		name += "_ms"
	}
	return name
}

// underscored writes a Go name in small letters: NodeID becomes node_id.
func underscored(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		begins := i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// worded reports whether values are numbers with words.
func worded(t reflect.Type) bool {
	return t.Implements(stringerType) && (t.Kind() == reflect.Uint8 || t.Kind() == reflect.Int)
}

// wordOf returns a number's word.
func wordOf(v reflect.Value) string {
	return strings.ToLower(strings.ReplaceAll(v.Interface().(fmt.Stringer).String(), " ", "_"))
}

// Encode encodes a value as JSON on one line.
func Encode(v any) ([]byte, error) { return Append(nil, v) }

// Append appends a value's encoding.
func Append(to []byte, v any) ([]byte, error) {
	w := writer{text: to}
	if err := w.value(reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	return w.text, nil
}

// Length returns the encoding's length. It only needs memory for a list's longest item.
func Length(v any) (int, error) {
	w := writer{measures: true}
	err := w.value(reflect.ValueOf(v))
	return w.dropped + len(w.text), err
}

// writer writes values in JSON.
type writer struct {
	text []byte
	// measures means that only the length is wanted, so the text is dropped after each list item. dropped is its
	// length.
	measures bool
	dropped  int
}

// put appends text.
func (w *writer) put(text string) { w.text = append(w.text, text...) }

// value appends a value in JSON.
func (w *writer) value(v reflect.Value) error {
	if !v.IsValid() {
		w.put("null")
		return nil
	}
	switch t := v.Type(); {
	case t == timeType:
		return w.encoded(v.Interface().(time.Time).UTC().Format(time.RFC3339Nano))
	case t == durationType:
		w.text = strconv.AppendInt(w.text, millis(v.Interface().(time.Duration)), 10)
		return nil
	case t == errorType && !v.IsNil():
		return w.encoded(v.Interface().(error).Error())
	case worded(t):
		return w.encoded(wordOf(v))
	case t.Implements(namedType):
		return w.list(reflect.ValueOf(v.Interface().(interface{ Names() []string }).Names()))
	case t == rawType, t.Implements(textType):
		return w.encoded(v.Interface())
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return w.value(v.Elem())
	case reflect.Struct:
		return w.object(v)
	case reflect.Slice:
		return w.list(v)
	case reflect.Uint64, reflect.Int64:
		w.text = fmt.Appendf(w.text, `"%v"`, v.Interface())
		return nil
	case reflect.String, reflect.Bool, reflect.Int, reflect.Uint8, reflect.Uint32, reflect.Float64, reflect.Map:
		return w.encoded(v.Interface())
	}
	return fmt.Errorf("cannot encode a %s as JSON", v.Type())
}

// millis converts a duration to whole milliseconds. Negative values stay negative, because they mean an endless wait.
func millis(d time.Duration) int64 {
	if d < 0 {
		return min(-1, d.Milliseconds())
	}
	return d.Milliseconds()
}

// encoded appends a value as encoded by the standard library, without HTML escapes.
func (w *writer) encoded(v any) error {
	b := bytes.NewBuffer(w.text)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	w.text = bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
	return err
}

func (w *writer) list(v reflect.Value) error {
	w.put("[")
	for i := range v.Len() {
		if i > 0 {
			w.put(",")
		}
		if err := w.value(v.Index(i)); err != nil {
			return err
		}
		if w.measures {
			w.dropped, w.text = w.dropped+len(w.text), w.text[:0]
		}
	}
	w.put("]")
	return nil
}

// object appends a structure's fields in order. Fields from a nil embedded structure are omitted, even booleans and
// lists.
func (w *writer) object(v reflect.Value) error {
	between := "{"
	for _, f := range Fields(v.Type()) {
		value, err := v.FieldByIndexErr(f.Index)
		if err != nil || f.absent(value) {
			continue
		}
		w.put(between)
		between = ","
		if err := w.member(&f, value); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if between == "{" {
		w.put(between)
	}
	w.put("}")
	return nil
}

// unsaid lists the words for an empty number.
var unsaid = []string{"unset", "none", "unknown"}

// absent reports whether a field with the given value is omitted: zero, except booleans, lists, meaningful words, and
// fields that are never omitted.
func (f *Field) absent(value reflect.Value) bool {
	switch {
	case !value.IsZero() || f.Always || value.Kind() == reflect.Bool || f.Of.Implements(namedType):
		return false
	case worded(f.Of):
		word := wordOf(value)
		return slices.Contains(unsaid, word) || strings.ContainsAny(word, "0123456789")
	}
	return value.Kind() != reflect.Slice || f.Of == rawType || isText(f.Of)
}

// base64Suffix is the name suffix for bytes that are not UTF-8.
const base64Suffix = "_base64"

func (w *writer) member(f *Field, value reflect.Value) error {
	switch {
	case f.counts() && value.Uint() == unbounded:
		w.put(`"` + f.Name + `":"` + everything + `"`)
		return nil
	case f.Of == bytesType && !utf8.Valid(value.Bytes()):
		w.put(`"` + f.Name + base64Suffix + `":`)
		return w.encoded(value.Bytes())
	}
	w.put(`"` + f.Name + `":`)
	if f.Of == bytesType {
		return w.encoded(string(value.Bytes()))
	}
	return w.value(value)
}

// Done is the response to a change without a result.
type Done struct {
	Changed bool `about:"false if nothing had to change"`
}

// InNode is a list item with its node path, for lists over several nodes.
type InNode[T any] struct {
	Node string `omit:"never"`
	Item T      `inline:"true"`
}
