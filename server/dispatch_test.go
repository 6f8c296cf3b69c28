package server

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// What the protocol's table knows is carried out here, but for what a later level brings.
func TestEveryRequestHasItsHandler(t *testing.T) {
	later := protocol.KindSemaphoreResize // not known to a build of the level before
	for k := range protocol.Kind(requestKinds) {
		known := (&protocol.Request{Kind: k}).Message() != nil
		if handled := handlers[k] != nil; handled != known && k != later {
			t.Errorf("%v: it is known: %v; server/dispatch.go has a handler for it: %v", k, known, handled)
		}
	}
}
