package apijson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errShape means that a value has the wrong form.
var errShape = errors.New("wrong type")

// Decode decodes a JSON object into a structure. An unknown member, a repeated member and a missing required member are
// errors with the member's name.
func Decode(text []byte, into any) error {
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return fmt.Errorf("%s is not a JSON object: %w", pathName(""), err)
	}
	return decodeObject(text, reflect.ValueOf(into).Elem(), "")
}

// decodeObject decodes the members of one object. path names the object in errors, such as spec.locations[2], so
// callers see which nested value is wrong.
func decodeObject(text []byte, into reflect.Value, path string) error {
	members, err := membersOf(text, path)
	if err != nil {
		return err
	}
	if err := onlyKnown(members, into.Type(), path); err != nil {
		return err
	}
	for _, f := range Fields(into.Type()) {
		given := members[f.Name]
		value := into.FieldByIndex(f.Index)
		if f.Of == bytesType {
			if encoded, ok := members[f.Name+base64Suffix]; ok {
				if given != nil {
					return fmt.Errorf("%s%s is given more than once: as text and in base64", path, f.Name)
				}
				if err := json.Unmarshal(encoded, value.Addr().Interface()); err != nil {
					return fmt.Errorf("%s%s%s is not base64: %w", path, f.Name, base64Suffix, errShape)
				}
				continue
			}
		}
		switch {
		case given == nil && f.Required:
			return fmt.Errorf("%s%s is missing", path, f.Name)
		case given == nil:
		case f.counts() && string(given) == `"`+everything+`"`:
			value.SetUint(unbounded)
		default:
			if err := decodeValue(given, value, path+f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// membersOf splits valid JSON, an object or null, into members. A repeated name is an error, because JSON readers
// disagree about the value that counts.
func membersOf(text []byte, path string) (map[string]json.RawMessage, error) {
	members, d := make(map[string]json.RawMessage), json.NewDecoder(bytes.NewReader(text))
	if begin, _ := d.Token(); begin == nil {
		return members, nil
	} else if begin != json.Delim('{') {
		return nil, fmt.Errorf("%s is not a JSON object: %w", pathName(path), errShape)
	}
	for d.More() {
		var value json.RawMessage
		token, _ := d.Token()
		name, _ := token.(string)
		if _, again := members[name]; again {
			return nil, fmt.Errorf("%s%s is given more than once", path, name)
		}
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s%s is not JSON: %w", path, name, err)
		}
		members[name] = value
	}
	return members, nil
}

// onlyKnown rejects unknown members. It runs before the check for missing members, so an error about a mistyped name
// shows that name.
func onlyKnown[V any](members map[string]V, of reflect.Type, path string) error {
	var known, list []string
	for _, f := range Fields(of) {
		known, list = append(known, f.Name), append(list, f.Name)
		if f.Of == bytesType {
			known = append(known, f.Name+base64Suffix)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch {
		case slices.Contains(known, name):
		case len(known) == 0:
			return fmt.Errorf("%s%s is unknown: the request has no fields", path, name)
		default:
			return fmt.Errorf("%s%s is unknown; known are %s", path, name, strings.Join(list, ", "))
		}
	}
	return nil
}

func pathName(path string) string {
	if path == "" {
		return "the body"
	}
	return strings.TrimSuffix(path, ".")
}

// decodeValue decodes a single value by its Go type. 64-bit integers are accepted as numbers and as text.
func decodeValue(text json.RawMessage, into reflect.Value, path string) error {
	wrong := func(want string) error { return fmt.Errorf("%s is not %s: %w", path, want, errShape) }
	switch t, kind := into.Type(), into.Kind(); {
	case t == durationType:
		var millis int64
		if json.Unmarshal(text, &millis) != nil || millis < 0 || millis > int64(maxDuration/time.Millisecond) {
			return wrong("a number of milliseconds from 0")
		}
		into.SetInt(millis * int64(time.Millisecond))
		return nil
	case t == timeType: // decoded by the standard library
	case t == bytesType, t == errorType:
		var said string
		if json.Unmarshal(text, &said) != nil {
			return wrong("a text")
		}
		if t == bytesType {
			into.SetBytes([]byte(said))
		} else {
			into.Set(reflect.ValueOf(errors.New(said)))
		}
		return nil
	case worded(t):
		return decodeWord(text, into, path)
	case t.Implements(namedType):
		var names []string
		if json.Unmarshal(text, &names) != nil {
			return wrong("a list")
		}
		if err := into.Addr().Interface().(interface{ SetNames([]string) error }).SetNames(names); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	case kind == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return decodeValue(text, into.Elem(), path)
	case kind == reflect.Struct:
		return decodeObject(text, into, path+".")
	case kind == reflect.Slice:
		return decodeList(text, into, path)
	case kind == reflect.Uint64:
		n, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 64)
		if err != nil {
			return wrong("a whole number from 0, or one in a string")
		}
		into.SetUint(n)
		return nil
	case kind == reflect.Int64:
		n, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
		if err != nil {
			return wrong("a whole number, or one in a string")
		}
		into.SetInt(n)
		return nil
	}
	if json.Unmarshal(text, into.Addr().Interface()) != nil {
		return wrong("a " + formOf(into.Type()))
	}
	return nil
}

// maxDuration bounds durations in requests: a year.
const maxDuration = 366 * 24 * time.Hour

// formOf describes a type's JSON form for people.
func formOf(t reflect.Type) string {
	switch {
	case t == timeType:
		return "time in RFC 3339 format"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "boolean"
	}
	return "number"
}

// decodeList decodes a list and replaces the previous content.
func decodeList(text json.RawMessage, into reflect.Value, path string) error {
	var items []json.RawMessage
	if json.Unmarshal(text, &items) != nil {
		return fmt.Errorf("%s is not a list: %w", path, errShape)
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, item := range items {
		if err := decodeValue(item, list.Index(i), path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

// mostWords is the maximum number of words per enum type.
const mostWords = 64

// wordsOf lists an enum type's words in order.
func wordsOf(t reflect.Type) (words []string, values []int) {
	v := reflect.New(t).Elem()
	for n := range mostWords {
		v.Set(reflect.ValueOf(n).Convert(t))
		word := wordOf(v)
		if word != "" && !strings.ContainsAny(word, "0123456789") {
			words, values = append(words, word), append(values, n)
		}
	}
	return words, values
}

// decodeWord decodes an enum. For an unknown word, the error lists all valid words.
func decodeWord(text json.RawMessage, into reflect.Value, path string) error {
	words, values := wordsOf(into.Type())
	var word string
	_ = json.Unmarshal(text, &word)
	if i := slices.Index(words, word); i >= 0 {
		into.Set(reflect.ValueOf(values[i]).Convert(into.Type()))
		return nil
	}
	return fmt.Errorf("%s is not one of %s: %w", path, strings.Join(words, ", "), errShape)
}
