package server

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// conn is one client connection. Requests are decoded and dispatched on the connection's event loop; answers and
// pushes come from the event loop and from the goroutines that apply batches, in one stream.
type conn struct {
	host *Host
	peer transport.Conn
	// holder is the connection as the leases see it: attached sessions live as long as the connection speaks.
	holder *lease.Holder

	// Used on the event loop only.
	decoder    *protocol.RequestDecoder
	greeted    bool      // welcomed, for the loop itself
	entering   bool      // its HELLO waits until the host has made sure of the client's rights
	heardAt    time.Time // when the frames that are being dispatched were read
	arrival    uint64    // the host's count when frames last arrived
	started    int64     // equal to heardAt, in the host's nanoseconds
	opened     int64
	rights     Rights
	name       string
	client     shard.ClientState // set by HELLO; does not change while the connection has a session
	pushes     protocol.KindSet  // of the second block that the client understands; set by HELLO
	behalf     protocol.OnBehalf // the client behind the next request of a gateway
	asker      string            // the client behind the present request, if a gateway has named it
	describing describe
	body       []byte // of the command that is being made

	// touched are the replicas with commands from these frames. Their pipelines are flushed after the last frame.
	touched []*replica.Replica

	// reviewed is the version of the rights at the last review. HELLO sets the version, and from then on the host's
	// loop.
	reviewed uint64

	guesses  guesses
	inFlight atomic.Int64 // requests without an answer
	// bytes of a frame that has arrived in part; changed on the event loop, or by the goroutine that cuts the
	// connection off
	partial  atomic.Int64
	marked   atomic.Bool  // a shard will flush the connection at the end of its batch
	heard    atomic.Int64 // when frames last came
	welcomed atomic.Bool  // the HELLO has come; the rights are known, and all goroutines may read them

	source   *pipeline.Source // of its commands; set by HELLO
	unopened []func()         // the watches that wait to be opened; guarded by openings.mu

	mu       sync.Mutex // guards the fields below
	encoder  *protocol.Encoder
	out      *bytebufferpool.ByteBuffer // the bytes for the next flush
	closed   bool
	cut      bool // the host has announced the end; the connection is being closed
	sessions map[shard.SessionID]*binding
	attached []attachedHome
	acts     map[uint64]*act // administrative acts, by request
	watches  int             // streaming and one-shot
	// savings are the states that the client reads for a backup, by number.
	savings    map[uint64]*saving
	lastSaving uint64
	// watches that wait to be opened, with their WATCH_STOPs; 0: no stop came
	opening        map[uint64]uint64
	pings          []uint64 // pings that wait for their answers
	answeringPings bool     // a goroutine answers the pings
}

func (h *Host) newConn(peer transport.Conn) *conn {
	c := &conn{
		host: h, peer: peer,
		decoder:  protocol.NewRequestDecoder(h.config.Limits.DataBytes),
		encoder:  protocol.NewEncoder(),
		sessions: make(map[shard.SessionID]*binding),
		opened:   h.set.Clock(),
	}
	c.holder = lease.NewHolder(h.config.Clock())
	c.holder.Owner = c
	if on, ok := peer.(interface{ Rounds() *transport.Rounds }); ok {
		c.holder.Reader = on.Rounds()
	}
	c.heard.Store(c.opened)
	return c
}

// Data implements transport.Events.
func (c *conn) Data(b []byte) (consumed int) {
	h := c.host
	now := h.config.Clock()
	c.holder.Heard(now)
	c.heardAt, c.started = now, h.set.Since(now)
	c.heard.Store(c.started)
	c.greeted = c.greeted || c.welcomed.Load()
	arrival := h.arrivals.Add(1)
	early := arrival == c.arrival+1 // no other connection has asked since, so a further write keeps none waiting
	c.arrival = arrival
	open := true
	for open && consumed < len(b) {
		limit := protocol.HelloFrameBytes
		if c.greeted {
			limit = int(h.config.Limits.RequestFrameBytes)
		}
		payload, size, err := protocol.ScanFrame(b[consumed:], limit)
		if err != nil {
			c.closeWithReason(cutBadRequest, protocol.StatusBadRequest, err.Error())
			open = false
			break
		}
		if payload == nil {
			break
		}
		consumed += size
		request, err := c.decoder.Decode(payload)
		if err != nil {
			open = c.refuseUndecodable(err)
			continue
		}
		h.metrics.Requests[request.Kind].Inc()
		c.inFlight.Add(1)
		open = c.dispatch(request)
		if open && early && consumed < len(b) {
			early = !c.flushEarly()
		}
	}
	// The commands are proposed even if the connection must end: queued commands must not wait for other connections.
	for i, r := range c.touched {
		r.Pipeline.Flush()
		c.touched[i] = nil
	}
	c.touched = c.touched[:0]
	if !open || !c.flush() {
		return -1
	}
	if part := len(b) - consumed; part > 0 || c.partial.Load() > 0 {
		h.holdPartial(c, part)
	}
	return consumed
}

// refuseUndecodable answers a request that could not be decoded, or closes the connection; it returns false if the
// connection must end.
func (c *conn) refuseUndecodable(err error) bool {
	var bad *protocol.DecodeError
	if !errors.As(err, &bad) || !bad.Answerable() || !c.greeted {
		c.closeWithReason(cutBadRequest, protocol.StatusBadRequest, err.Error())
		return false
	}
	c.inFlight.Add(1)
	result := bad.Result()
	c.Fail(bad.ID, bad.Kind, &result)
	return true
}

// Drained implements transport.Events.
func (c *conn) Drained() { c.host.drained(c) }

// Closed implements transport.Events.
func (c *conn) Closed(err error) {
	c.mu.Lock()
	c.closed = true
	sessions := c.sessions
	c.sessions = nil
	c.endSavings(slices.Collect(maps.Values(c.savings))...)
	if c.out != nil {
		transport.Buffers.Put(c.out)
		c.out = nil
	}
	c.mu.Unlock()
	c.host.dropPartial(c)
	c.host.connClosed(c, sessions)
}

// clip returns as much of a message as a result may have.
func clip(message string) string {
	if len(message) > protocol.MaxMessageBytes {
		return message[:protocol.MaxMessageBytes]
	}
	return message
}
