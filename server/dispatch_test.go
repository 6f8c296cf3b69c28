package server

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
)

// TestEveryRequestHasItsHandler: what the protocol's table knows is carried out here, but for what a later level
// brings, and what goes between hosts only.
func TestEveryRequestHasItsHandler(t *testing.T) {
	for k := range protocol.Kind(requestKinds) {
		known := (&protocol.Request{Kind: k}).Message() != nil && !k.BetweenHosts()
		later := k >= protocol.KindRolloutPut && k <= protocol.KindRolloutPlan // than a build of the level before
		handled := handlers[k] != nil || replica.Mutations[k].Command != nil
		if handled != known && !later || known && !handled {
			t.Errorf("%v is known: %v; it has a handler in server/dispatch.go, or a row in "+
				"server/replica/mutation.go: %v",
				k, known, handled)
		}
	}
}
