package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A wireField is a field on the wire. Nothing in the package lists a message's fields, so the tests learn fields from
// errors: the tests send values with a wrong type, position by position, and read the expected type in the errors. As a
// side effect, the tests show that errors name the offending field.
type wireField struct {
	Name  string
	Type  string // uint, bool, text, bytes, record, list
	Limit string // the most bytes or the largest number, or empty
	// Fields are the fields in a record or list item. A list with numbers or texts has one field without a name.
	Fields []wireField
}

var (
	wrongType  = regexp.MustCompile(`^a map where (\w+) is wanted$`)
	overLimit  = regexp.MustCompile(`at most (\d+)`)
	emptyMap   = []byte{0x80}
	nilValue   = []byte{0xc0}
	almostMost = append([]byte{0xcf}, binary.BigEndian.AppendUint64(nil, 1<<64-2)...)
	longString = []byte{0xdb, 0x7f, 0, 0, 0} // only the length: it is checked first
)

// learnFields finds the fields in an array. decode decodes a message whose array holds the given values; path is the
// prefix before a field name in errors.
func learnFields(t *testing.T, path string, decode func(values [][]byte) *DecodeError) []wireField {
	t.Helper()
	var fields []wireField
	var before [][]byte
	for {
		try := func(value []byte) *DecodeError {
			return decode(append(before[:len(before):len(before)], value))
		}
		err := try(emptyMap)
		if err == nil {
			return fields
		}
		fields = append(fields, learnField(t, path, err, try))
		before = append(before, nilValue)
	}
}

// learnField learns one field, from the error for an empty map in its place.
func learnField(t *testing.T, path string, err *DecodeError, try func(value []byte) *DecodeError) wireField {
	t.Helper()
	wanted := wrongType.FindStringSubmatch(err.Problem)
	if wanted == nil || !strings.HasPrefix(err.Field, path) {
		t.Fatalf("field at %q: error %q does not say what is wanted", path, err)
	}
	field := wireField{Name: strings.TrimPrefix(err.Field, path), Type: wanted[1]}
	limit := func(value []byte) string {
		err := try(value)
		if err == nil {
			return ""
		}
		if m := overLimit.FindStringSubmatch(err.Problem); m != nil {
			return m[1]
		}
		t.Fatalf("field %q: error %q names no limit", field.Name, err)
		return ""
	}
	switch field.Type {
	case "uint":
		field.Limit = limit(almostMost)
	case "text", "bytes":
		field.Limit = limit(longString)
	case "array":
		inner := try([]byte{0x91, 0x80})
		if inner == nil {
			t.Fatalf("field %q: an array of a map is taken for anything", field.Name)
		}
		element := strings.HasPrefix(strings.TrimPrefix(inner.Field, err.Field), "[0]")
		switch {
		case !element:
			field.Type = "record"
			field.Fields = learnFields(t, err.Field+".", func(values [][]byte) *DecodeError {
				return try(arrayOf(values...))
			})
		case inner.Problem == "a map where array is wanted":
			field.Type = "list"
			field.Fields = learnFields(t, err.Field+"[0].", func(values [][]byte) *DecodeError {
				return try(arrayOf(arrayOf(values...)))
			})
		default:
			field.Type = "list"
			field.Fields = []wireField{learnField(t, err.Field+"[0]", inner, func(value []byte) *DecodeError {
				return try(arrayOf(value))
			})}
		}
	}
	return field
}

// arrayOf encodes an array with encoded values.
func arrayOf(values ...[]byte) []byte {
	b := []byte{0xdc, byte(len(values) >> 8), byte(len(values))}
	for _, v := range values {
		b = append(b, v...)
	}
	return b
}

// messageOf encodes a message payload with encoded fields.
func messageOf(kind Kind, fields ...[]byte) []byte {
	return arrayOf(append([][]byte{kindBytes(kind), {7}}, fields...)...)
}

// kindBytes encodes a kind.
func kindBytes(kind Kind) []byte {
	if kind <= maxOneByte {
		return []byte{byte(kind)}
	}
	return []byte{0xcd, byte(kind >> 8), byte(kind)}
}

// decodeAny decodes a payload in the direction of its kind.
func decodeAny(kind Kind, payload []byte) *DecodeError {
	var err error
	if kind.IsRequest() {
		_, err = NewRequestDecoder(MaxDataBytes).Decode(payload)
	} else {
		_, err = NewAnswerDecoder().Decode(payload)
	}
	var decodeErr *DecodeError
	if err != nil && !errors.As(err, &decodeErr) {
		panic(fmt.Sprintf("not a DecodeError: %v", err))
	}
	return decodeErr
}

// knownKinds returns all named kinds, in ascending order.
func knownKinds() []Kind {
	var kinds []Kind
	for k := Kind(1); k <= maxPush2; k++ {
		if !strings.HasPrefix(k.String(), "KIND_") {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

var learned struct {
	once   sync.Once
	fields map[Kind][]wireField
}

// schema returns a message's fields after the kind and request id.
func schema(t *testing.T, kind Kind) []wireField {
	t.Helper()
	learned.once.Do(func() {
		learned.fields = make(map[Kind][]wireField)
		for _, k := range knownKinds() {
			learned.fields[k] = learnFields(t, "", func(values [][]byte) *DecodeError {
				return decodeAny(k, messageOf(k, values...))
			})
		}
	})
	return learned.fields[kind]
}

func TestAnswersBeginWithTheirResult(t *testing.T) {
	for _, k := range knownKinds() {
		fields := schema(t, k)
		if k.IsAnswer() && (len(fields) < 2 || fields[0].Name != "status" || fields[1].Name != "detail") {
			t.Errorf("%s begins with %v", k, fields)
		}
	}
}

func TestMessagesFitTheShortestArray(t *testing.T) {
	for _, k := range knownKinds() {
		if n := 2 + len(schema(t, k)); n > maxFields {
			t.Errorf("%s has %d fields, at most %d can be written", k, n, maxFields)
		}
	}
}

func TestFieldNamesAreUniqueInTheirMessage(t *testing.T) {
	for _, k := range knownKinds() {
		seen := make(map[string]bool)
		for i, f := range schema(t, k) {
			if f.Name == "" || seen[f.Name] {
				t.Errorf("%s: field %s has the name %q", k, strconv.Itoa(i), f.Name)
			}
			seen[f.Name] = true
		}
	}
}
