package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/signalbox/signalbox/protocol"
)

// object is a message, a record, or a command's arguments: values by field name. Numbers are uint64, bytes are hex
// strings, lists are []any and records are objects.
type object = map[string]any

// field is a field in a message or record.
type field struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Of     string `json:"of"`     // list item type
	Record string `json:"record"` // record name, also for list items
	Names  string `json:"names"`  // field's enum
}

// message is one kind's entry.
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
	numbers map[string]map[string]uint64 // enums and statuses, by type and name
	retries map[uint64]string            // classes of statuses
}

// theSchema is read once, on first use: programs that play no scripts pay nothing. An error in the file is a program
// bug, and a panic.
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

// kind returns the message with the name, if it has the type.
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

// numberOf reads a number from a script or driver: a JSON number, a digit string, or an enum value's name.
func (s *schema) numberOf(names string, value any) (uint64, error) {
	switch v := value.(type) {
	case nil:
		return 0, nil
	case uint64:
		return v, nil
	case int:
		return uint64(v), nil
	case float64: // from JSON; larger numbers are strings
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
