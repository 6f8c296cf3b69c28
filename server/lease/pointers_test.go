package lease

import (
	"reflect"
	"testing"
)

// TestSessionsHaveNoPointers: a collection of garbage passes over the records of a leader's sessions, and over the
// lists of them.
func TestSessionsHaveNoPointers(t *testing.T) {
	var table Table
	for _, of := range []any{
		session{}, table.sessions.free, table.timers.Items, new(group).sessions.Items,
	} {
		kind := reflect.TypeOf(of)
		fields := []reflect.Type{kind}
		if kind.Kind() == reflect.Slice {
			fields[0] = kind.Elem()
		} else {
			fields = fields[:0]
			for i := range kind.NumField() {
				fields = append(fields, kind.Field(i).Type)
			}
		}
		for _, f := range fields {
			if f.Kind() > reflect.Complex128 {
				t.Errorf("%v has a %v", kind, f)
			}
		}
	}
	if of := reflect.TypeOf(table.sessions.byID); of.Elem().Kind() > reflect.Complex128 {
		t.Errorf("sessions are found by %v", of)
	}
}
