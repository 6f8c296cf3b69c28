package server

import (
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// What a request needs is written down for every kind. Four need nothing but a good token: they show no node.
func TestEveryRequestHasItsRight(t *testing.T) {
	free := []protocol.Kind{protocol.KindHello, protocol.KindPing, protocol.KindRouting, protocol.KindWatchStop}
	later := []protocol.Kind{protocol.KindSemaphoreResize} // not known to a build of the level before
	for k := range protocol.MaxRequestKind + 1 {
		known := (&protocol.Request{Kind: k}).Message() != nil
		if !known && slices.Contains(later, k) {
			continue
		}
		if needs := rightOf[k] != 0; needs != (known && !slices.Contains(free, k)) {
			t.Errorf("%v: it is known: %v; it needs a right: %v", k, known, needs)
		}
	}
}
