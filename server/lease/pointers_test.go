package lease

import (
	"reflect"
	"testing"
)

// TestSessionsHaveNoPointers: a garbage collection skips the leader's session records and session lists.
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
