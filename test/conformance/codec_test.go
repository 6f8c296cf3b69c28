package conformance

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestTheSchemaIsEnoughForAllVectors: a codec that knows only the schema reads each vector's fields from its frame, and
// builds the frame from the fields. Writers omit trailing zero fields, so the test removes trailing zeros first.
func TestTheSchemaIsEnoughForAllVectors(t *testing.T) {
	s := theSchema()
	files, err := filepath.Glob("../../protocol/testdata/vectors/messages/*.json")
	if err != nil || len(files) < 200 {
		t.Fatalf("%d vectors, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var v struct {
				Kind      string
				Number    uint64
				RequestID json.Number `json:"request_id"`
				Fields    object
				Frame     string
			}
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
			m := s.byName[v.Kind]
			if m == nil || m.Kind != v.Number {
				t.Fatalf("the schema has no kind %s of the number %d", v.Kind, v.Number)
			}
			id, err := s.numberOf("", v.RequestID)
			if err != nil {
				t.Fatal(err)
			}
			fields := fieldsOf(m)
			frame, err := s.encode(m, id, trimmed(s, fields, v.Fields))
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(frame); got != v.Frame {
				t.Errorf("written:\n got %s\nwant %s", got, v.Frame)
			}
			kind, number, values, err := s.decode(frame[4:], m.Type)
			if err != nil || kind != m || number != id {
				t.Fatalf("%v, %d, %v", kind, number, err)
			}
			p := &play{named: make(map[string]*request), commands: make(map[string]*command)}
			if why := p.differs(v.Fields, values); why != "" {
				t.Errorf("read: %s", why)
			}
		})
	}
}

// trimmed removes the fields omitted by writers: trailing zeros, in records too.
func trimmed(s *schema, fields []field, values object) object {
	all := make(object)
	used := false
	for i := len(fields) - 1; i >= 0; i-- {
		f := fields[i]
		v := values[f.Name]
		if inner, ok := v.(object); ok {
			v = trimmed(s, s.Records[f.Record], inner)
		}
		if items, ok := v.([]any); ok && f.Record != "" {
			for i, item := range items {
				if inner, ok := item.(object); ok {
					items[i] = trimmed(s, s.Records[f.Record], inner)
				}
			}
		}
		used = used || !isZero(v)
		if used {
			all[f.Name] = v
		}
	}
	return all
}

func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case object:
		return len(v) == 0
	}
	return false
}
