package lease

import (
	"reflect"
	"testing"
)

// TestSessionsHaveNoPointers: a collection of garbage passes over the records of a leader's sessions, and over the
// lists of sessions.
func TestSessionsHaveNoPointers(t *testing.T) {
	var table Table
	var g group
	types := []reflect.Type{reflect.TypeOf(table.sessions.byID).Elem(), reflect.TypeOf(table.sessions.free).Elem(),
		reflect.TypeOf(table.timers.Items).Elem(), reflect.TypeOf(g.sessions.Items).Elem()}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[session]()) {
		types = append(types, field.Type)
	}
	for _, of := range types {
		if of.Kind() > reflect.Complex128 {
			t.Errorf("a record or a list has a %v", of)
		}
	}
}
