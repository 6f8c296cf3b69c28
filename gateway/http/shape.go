package http

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A value of Go has one shape in JSON, whichever route it goes by: the names of fields in small letters with
// underscores, whole numbers of 64 bits as strings, since programs in other languages have no such numbers, durations
// in milliseconds under a name that ends with _ms, times by RFC 3339, bytes as text under their name, or in base 64
// under a name that ends with _base64 where they are no text, and numbers that have words as these words. What is zero
// is left out, but for booleans and what stands alone.

// field is a field of a structure in JSON.
type field struct {
	name     string
	index    []int
	of       reflect.Type
	about    string // what it is, for people
	required bool   // of a request
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	bytesType    = reflect.TypeFor[[]byte]()
	errorType    = reflect.TypeFor[error]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	stringerType = reflect.TypeFor[fmt.Stringer]()
)

// fieldsOf returns the fields of a structure, those of embedded ones among them.
func fieldsOf(t reflect.Type) []field {
	var all []field
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous && structure(f.Type) {
			continue
		}
		all = append(all, field{
			name: nameOf(f), index: f.Index, of: f.Type, about: f.Tag.Get("about"), required: f.Tag.Get("need") != "",
		})
	}
	return all
}

// structure reports whether a type is a structure that has fields in JSON.
func structure(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != timeType
}

// nameOf is the name of a field in JSON.
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

// underscored writes a name of Go in small letters: NodeID becomes node_id.
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

// worded reports whether the values of a type are numbers that have words.
func worded(t reflect.Type) bool {
	return t.Implements(stringerType) && (t.Kind() == reflect.Uint8 || t.Kind() == reflect.Int)
}

// wordOf is the word of such a number.
func wordOf(v reflect.Value) string {
	return strings.ToLower(strings.ReplaceAll(v.Interface().(fmt.Stringer).String(), " ", "_"))
}

// encode writes a value in JSON.
func encode(v any) ([]byte, error) {
	shaped, err := shapeOf(reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	return json.Marshal(shaped)
}

// member is a field with its value, in the order of the fields.
type member struct {
	name  string
	value any
}

// object is what a structure becomes: its members in the order of its fields.
type object []member

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		text = append(strconv.AppendQuote(text, m.name), ':')
		text = append(text, value...)
	}
	return append(text, '}'), nil
}

// shapeOf returns what the standard library writes in the form of this API.
func shapeOf(v reflect.Value) (any, error) {
	if !v.IsValid() {
		return nil, nil
	}
	switch t := v.Type(); {
	case t == timeType:
		return v.Interface().(time.Time).UTC().Format(time.RFC3339Nano), nil
	case t == durationType:
		return v.Interface().(time.Duration).Milliseconds(), nil
	case t == rawType:
		return v.Interface(), nil
	case t == errorType:
		return v.Interface().(error).Error(), nil
	case worded(t):
		return wordOf(v), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return shapeOf(v.Elem())
	case reflect.Struct:
		return shapeOfFields(v)
	case reflect.Slice:
		return shapeOfList(v)
	case reflect.Uint64, reflect.Int64:
		return fmt.Sprint(v.Interface()), nil
	case reflect.String, reflect.Bool, reflect.Int, reflect.Uint8, reflect.Uint32, reflect.Float64, reflect.Map:
		return v.Interface(), nil
	}
	return nil, fmt.Errorf("a %s has no form in JSON", v.Type())
}

func shapeOfList(v reflect.Value) (any, error) {
	list := make([]any, v.Len())
	for i := range list {
		var err error
		if list[i], err = shapeOf(v.Index(i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func shapeOfFields(v reflect.Value) (any, error) {
	shaped := object{}
	for _, f := range fieldsOf(v.Type()) {
		value, err := v.FieldByIndexErr(f.index)
		if err != nil || value.IsZero() && value.Kind() != reflect.Bool && value.Kind() != reflect.Slice {
			continue // it is in an embedded structure that is not there, or zero
		}
		if f.of == bytesType {
			shaped = append(shaped, bytesMember(f.name, value.Bytes())...)
			continue
		}
		inside, err := shapeOf(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		shaped = append(shaped, member{f.name, inside})
	}
	return shaped, nil
}

// base64Suffix ends the name of bytes that are no text.
const base64Suffix = "_base64"

func bytesMember(name string, data []byte) object {
	switch {
	case data == nil:
		return nil
	case utf8.Valid(data):
		return object{{name, string(data)}}
	}
	return object{{name + base64Suffix, data}}
}
