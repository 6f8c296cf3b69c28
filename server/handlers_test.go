package server

import (
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/connection"
)

// TestEveryRequestHasItsHandler: every request in the protocol's table has a handler here, except requests of later
// levels and requests between hosts.
func TestEveryRequestHasItsHandler(t *testing.T) {
	h := openAlone(t)
	defer h.Close()
	handlers := h.handlers()
	own := []protocol.Kind{protocol.KindHello, protocol.KindPing, protocol.KindForwardedFor} // handled by Conn
	for k := range protocol.Kind(connection.Kinds) {
		known := (&protocol.Request{Kind: k}).Message() != nil && !k.BetweenHosts()
		later := k >= protocol.KindRolloutPut && k <= protocol.KindRolloutPlan // absent in a build of the level before
		handled := handlers[k] != nil || slices.Contains(own, k)
		if handled != known && !later || known && !handled {
			t.Errorf("%v is known: %v; it has a handler below server/handle, or a row in "+
				"server/replica/mutation.go: %v",
				k, known, handled)
		}
	}
}
