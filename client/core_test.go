package client

import (
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/client/internal/core"
)

// TestCoresAreHiddenFromUsers: what a Client, a Session and a Node embed for the packages above client gives users
// neither a method nor a field.
func TestCoresAreHiddenFromUsers(t *testing.T) {
	for _, held := range []reflect.Type{
		reflect.TypeFor[*core.Holder[core.Client]](), reflect.TypeFor[*core.Holder[core.Session]](),
		reflect.TypeFor[*core.Holder[core.Node]](),
	} {
		if n := held.NumMethod(); n != 0 {
			t.Errorf("%v has %d exported methods", held, n)
		}
		for f := range held.Elem().Fields() {
			if f.IsExported() {
				t.Errorf("%v has the exported field %s", held, f.Name)
			}
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Client](), reflect.TypeFor[Session](), reflect.TypeFor[Node]()} {
		for f := range of.Fields() {
			if f.IsExported() {
				t.Errorf("%v has the exported field %s", of, f.Name)
			}
		}
	}
}
