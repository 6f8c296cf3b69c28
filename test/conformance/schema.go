package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/signalbox/signalbox/protocol"
)

// object is a message, a record, or the arguments of a command: values by the names of their fields. Numbers are
// uint64, bytes are texts of hex digits, lists are []any and records are objects.
type object = map[string]any

// field is a field of a message or record.
type field struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Of     string `json:"of"`     // the type of a list's items
	Record string `json:"record"` // the name of a record, or of the records in a list
	Names  string `json:"names"`  // the enum of the field
}

// message is the entry of one kind.
type message struct {
	Name   string  `json:"name"`
	Kind   uint64  `json:"kind"`
	Type   string  `json:"type"`
	Fields []field `json:"fields"`
}

// schema is protocol/testdata/schema.json.
type schema struct {
	AnswerOffset uint64 `json:"answer_offset"`
	Statuses     []struct {
		Number uint64 `json:"number"`
		Name   string `json:"name"`
		Retry  string `json:"retry"`
	} `json:"statuses"`
	Enums []struct {
		Name   string            `json:"name"`
		Values map[string]string `json:"values"`
	} `json:"enums"`
	Limits   map[string]json.Number `json:"limits"`
	Records  map[string][]field     `json:"records"`
	Messages []*message             `json:"messages"`

	byName  map[string]*message
	byKind  map[uint64]*message
	numbers map[string]map[string]uint64 // of enums and statuses, by type and name
	retries map[uint64]string            // classes of statuses
}

// theSchema is read once, at the first use: programs that play no scripts pay nothing. A mistake in the file is a
// mistake of the program, and a panic.
var theSchema = sync.OnceValue(func() *schema {
	s := &schema{
		byName: make(map[string]*message), byKind: make(map[uint64]*message),
		numbers: map[string]map[string]uint64{"Status": {}}, retries: make(map[uint64]string),
	}
	if err := json.Unmarshal(protocol.Schema, s); err != nil {
		panic("conform: the schema: " + err.Error()) // the file is part of the program, and read by tests
	}
	for _, m := range s.Messages {
		s.byName[m.Name], s.byKind[m.Kind] = m, m
	}
	for _, status := range s.Statuses {
		s.numbers["Status"][status.Name], s.retries[status.Number] = status.Number, status.Retry
	}
	for _, enum := range s.Enums {
		values := make(map[string]uint64)
		for number, name := range enum.Values {
			n, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				panic("conform: the schema: " + err.Error())
			}
			values[name] = n
		}
		s.numbers[enum.Name] = values
	}
	return s
})

// kind returns the message of the name, if it is of the type.
func (s *schema) kind(messageType, name string) (*message, error) {
	m := s.byName[name]
	if m == nil || m.Type != messageType {
		return nil, fmt.Errorf("no %s is called %q", messageType, name)
	}
	return m, nil
}

// check reports values without a field.
func (s *schema) check(fields []field, values object) error {
	known := make(map[string]bool)
	for _, f := range fields {
		known[f.Name] = true
	}
	for name := range values {
		if !known[name] {
			return fmt.Errorf("there is no field %q", name)
		}
	}
	return nil
}

// numberOf reads a number of a script or of a driver: a JSON number, a text of digits, or the name of an enum value.
func (s *schema) numberOf(names string, value any) (uint64, error) {
	switch v := value.(type) {
	case nil:
		return 0, nil
	case uint64:
		return v, nil
	case int:
		return uint64(v), nil
	case float64: // of JSON; texts stand for larger numbers
		return uint64(v), nil
	case json.Number:
		return strconv.ParseUint(v.String(), 10, 64)
	case string:
		if n, ok := s.numbers[names][v]; ok {
			return n, nil
		}
		return strconv.ParseUint(v, 10, 64)
	}
	return 0, fmt.Errorf("%v is no number", value)
}
