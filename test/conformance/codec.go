package conformance

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// encode returns a message's frame. Fields without a value are zero. Unknown names are refused, so that a misspelt
// field in a script is noticed.
func (s *schema) encode(m *message, id uint64, values object) ([]byte, error) {
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	fields := fieldsOf(m)
	if err := s.check(fields, values); err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	if err := s.encodeFields(e, fields, values, []uint64{m.Kind, id}); err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(b.Len()))
	return append(frame, b.Bytes()...), nil
}

// fieldsOf are a message's fields after kind and request id.
func fieldsOf(m *message) []field {
	if m.Type != "answer" {
		return m.Fields
	}
	return append([]field{
		{Name: "status", Type: "uint", Names: "Status"}, {Name: "detail", Type: "record", Record: "Detail"},
	}, m.Fields...)
}

// encodeFields writes an array: numbers in front, and fields. Trailing fields without a value are left out.
func (s *schema) encodeFields(e *msgpack.Encoder, fields []field, values object, front []uint64) error {
	used := 0
	for i, f := range fields {
		if values[f.Name] != nil {
			used = i + 1
		}
	}
	_ = e.EncodeArrayLen(len(front) + used)
	for _, n := range front {
		_ = e.EncodeUint(n)
	}
	for _, f := range fields[:used] {
		if err := s.encodeValue(e, f, values[f.Name]); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// encodeValue writes one value. Its errors are about the value, because writing to a buffer cannot fail.
func (s *schema) encodeValue(e *msgpack.Encoder, f field, value any) error {
	switch f.Type {
	case "uint":
		n, err := s.numberOf(f.Names, value)
		if err != nil {
			return err
		}
		return e.EncodeUint(n)
	case "bool":
		v, _ := value.(bool)
		return e.EncodeBool(v)
	case "text":
		v, _ := value.(string)
		return e.EncodeString(v)
	case "bytes":
		v, _ := value.(string)
		b, err := hex.DecodeString(v)
		if err != nil {
			return err
		}
		if b == nil {
			b = []byte{}
		}
		return e.EncodeBytes(b)
	case "record":
		v, _ := value.(object)
		if err := s.check(s.Records[f.Record], v); err != nil {
			return err
		}
		return s.encodeFields(e, s.Records[f.Record], v, nil)
	}
	items, _ := value.([]any)
	_ = e.EncodeArrayLen(len(items))
	for _, item := range items {
		if err := s.encodeValue(e, field{Type: f.Of, Record: f.Record, Names: f.Names}, item); err != nil {
			return err
		}
	}
	return nil
}

var errNoMessage = errors.New("a frame that is no message")

// decode reads a message payload.
func (s *schema) decode(payload []byte, messageType string) (m *message, id uint64, values object, err error) {
	d := msgpack.NewDecoder(bytes.NewReader(payload))
	d.UseLooseInterfaceDecoding(true)
	v, err := d.DecodeInterface()
	if err != nil {
		return nil, 0, nil, fmt.Errorf("%w: %w", errNoMessage, err)
	}
	list, _ := v.([]any)
	if len(list) < 2 {
		return nil, 0, nil, errNoMessage
	}
	kind, ok := asUint(list[0])
	number, ok2 := asUint(list[1])
	if m = s.byKind[kind]; !ok || !ok2 || m == nil || m.Type != messageType {
		return nil, 0, nil, fmt.Errorf("%w: kind %v, request id %v", errNoMessage, list[0], list[1])
	}
	values, err = s.decodeFields(fieldsOf(m), list[2:])
	if err != nil {
		err = fmt.Errorf("%s: %w", m.Name, err)
	}
	return m, number, values, err
}

func asUint(v any) (uint64, bool) {
	switch n := v.(type) {
	case int64:
		return uint64(n), n >= 0
	case uint64:
		return n, true
	}
	return 0, v == nil
}

func (s *schema) decodeFields(fields []field, list []any) (object, error) {
	values := make(object)
	for i, f := range fields {
		var v any
		if i < len(list) {
			v = list[i]
		}
		value, err := s.decodeValue(f, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		values[f.Name] = value
	}
	return values, nil
}

func (s *schema) decodeValue(f field, v any) (any, error) {
	switch f.Type {
	case "uint":
		if n, ok := asUint(v); ok {
			return n, nil
		}
	case "bool":
		if b, ok := v.(bool); ok || v == nil {
			return b, nil
		}
	case "text", "bytes":
		var text string
		switch b := v.(type) {
		case nil:
		case string:
			text = b
		case []byte:
			text = string(b)
		default:
			return nil, fmt.Errorf("%T where %s is wanted", v, f.Type)
		}
		if f.Type == "bytes" {
			return hex.EncodeToString([]byte(text)), nil
		}
		return text, nil
	case "record":
		if list, ok := v.([]any); ok || v == nil {
			return s.decodeFields(s.Records[f.Record], list)
		}
	case "list":
		list, ok := v.([]any)
		if !ok && v != nil {
			break
		}
		items := make([]any, len(list))
		for i, item := range list {
			value, err := s.decodeValue(field{Type: f.Of, Record: f.Record}, item)
			if err != nil {
				return nil, err
			}
			items[i] = value
		}
		return items, nil
	}
	return nil, fmt.Errorf("%T where %s is wanted", v, f.Type)
}
