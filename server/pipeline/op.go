package pipeline

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Caller receives the answers to commands. Its methods must be safe for concurrent use, and are never called with a
// pipeline's lock held.
type Caller interface {
	// Fail answers a request that failed, or whose outcome is uncertain.
	Fail(t Ticket, why *protocol.Result)
	// Flush sends the answers. few means that only few callers are flushed, as in watch.Sink.
	Flush(few bool)
}

// Source is a connection as seen by the pipelines of all shards: commands from one source keep their order, and share
// batches with commands from other sources. A nil Source is the host itself.
type Source struct {
	token, address string
	// flows has a flow per shard id, nil for none. A shard's flow is read under the lock of the shard's pipeline, and
	// set under mu as well, because another shard may just replace the list by a longer one.
	flows atomic.Pointer[[]*flow]
	mu    sync.Mutex
}

// NewSource returns the source for a connection from an address with a token name.
func NewSource(token string, address net.Addr) *Source {
	return &Source{token: token, address: hostOf(address)}
}

// flow returns the source's flow in a shard, or nil. The lock of the shard's pipeline is held.
func (s *Source) flow(id uint64) *flow {
	if all := s.flows.Load(); all != nil && id < uint64(len(*all)) {
		return (*all)[id]
	}
	return nil
}

// setFlow sets the source's flow in a shard. The lock of the shard's pipeline is held.
func (s *Source) setFlow(id uint64, f *flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*flow
	if now := s.flows.Load(); now != nil {
		all = *now
	}
	if id >= uint64(len(all)) {
		longer := make([]*flow, max(2*len(all), int(id)+1))
		copy(longer, all)
		all = longer
		s.flows.Store(&all)
	}
	all[id] = f
}

// Address returns the source's address, without its port.
func (s *Source) Address() string { return s.address }

// hostOf returns the address a client's connections share.
func hostOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// Ticket is a request that waits for its answer.
type Ticket struct {
	Request uint64
	Kind    protocol.Kind
	Started int64 // in nanoseconds on the host's clock
}

// Op is a pending command, with the receiver of its result.
type Op struct {
	Ticket
	Caller Caller  // nil if Done is called
	Source *Source // nil: the command is the host's own
	size   int32   // encoded command size
	// Delayable: the command may wait for the next command.
	Delayable bool
	// Done is called if there is no Caller, with the result, or with nil and the reason why the result is unknown.
	// The goroutine that applies batches calls Done, so Done must not block.
	Done func(e *shard.Effect, failed protocol.Status)
}

// fail answers ops that failed, or whose outcome is uncertain.
func fail(ops []Op, why *protocol.Result) {
	answered := make(map[Caller]struct{})
	for i := range ops {
		o := &ops[i]
		if o.Caller == nil {
			o.Done(nil, why.Status)
			continue
		}
		o.Caller.Fail(o.Ticket, why)
		answered[o.Caller] = struct{}{}
	}
	for c := range answered {
		c.Flush(false)
	}
}
