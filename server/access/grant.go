package access

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
)

// grant is what connections that came with one token hold on to. The file changes it under them. Any
// goroutine may use it.
type grant struct {
	name string
	// rules are what the file says of the token now; nil: it does not have it any more. The list is never
	// changed, only replaced.
	rules   atomic.Pointer[[]rule]
	version atomic.Uint64
}

// Allows implements server.Rights.
func (g *grant) Allows(path string, need protocol.Right) bool {
	rules := g.rules.Load()
	if rules == nil {
		return false
	}
	for i := range *rules {
		r := &(*rules)[i]
		if r.rights&need == need && (path == "" || r.covers(path)) {
			return true
		}
	}
	return false
}

// Valid implements server.Rights.
func (g *grant) Valid() bool { return g.rules.Load() != nil }

// Version implements server.Rights.
func (g *grant) Version() uint64 { return g.version.Load() }
