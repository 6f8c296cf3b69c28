package connection

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/transport"
)

// Conn is one client connection. Requests are decoded and dispatched on the connection's event loop. Answers and
// pushes come from the event loop and from the goroutines that apply batches, in one stream.
type Conn struct {
	set  *Set
	peer transport.Conn
	// holder represents the connection to the lease code: attached sessions stay alive as long as the connection
	// receives frames.
	holder *lease.Holder
	opened int64 // in nanoseconds on the host's clock

	// Used on the event loop only.
	decoder  *protocol.RequestDecoder
	entering bool                  // HELLO waits until the host has confirmed the client's rights
	arrival  uint64                // the host's arrival count when frames last arrived
	request  handle.Request        // the current request
	behalf   protocol.ForwardedFor // the client for which a gateway sends the next request
	traffic  traffic
	// touched are the replicas that received commands from the current frames. Their pipelines are flushed after the
	// last frame.
	touched []*replica.Replica

	// Set by HELLO before caller is set, and constant afterwards.
	pushes protocol.KindSet // message kinds from the second block that the client understands
	source *pipeline.Source // command source for fair queueing
	caller atomic.Pointer[caller.Caller]
	// reviewed is the rights version at the last review. HELLO sets it first; afterwards only the host's loop uses
	// it.
	reviewed uint64

	authThrottle caller.AuthThrottle
	inFlight     atomic.Int64 // unanswered requests
	changing     atomic.Int64 // unanswered requests that change access rules
	// bytes in a partially received frame; changed on the event loop, or by the goroutine that disconnects
	partial atomic.Int64
	marked  atomic.Bool  // a shard will flush the connection at the end of its batch
	heard   atomic.Int64 // when frames last arrived

	mu       sync.Mutex // guards the fields below
	out      output
	closed   bool
	cut      bool // the disconnect reason was sent; the connection is being closed
	sessions sessions
	actions  map[uint64]*audit.Entry // administrative actions, by request id
	watches  int                     // streaming and one-shot watches
	pings    pings
}

func newConn(s *Set, peer transport.Conn) *Conn {
	c := &Conn{
		set: s, peer: peer,
		decoder:  protocol.NewRequestDecoder(s.Limits.DataBytes),
		out:      output{encoder: protocol.NewEncoder()},
		sessions: newSessions(),
		opened:   s.since(s.Clock()),
	}
	c.request.Conn = c
	c.holder = lease.NewHolder(s.Clock())
	c.holder.Owner = c
	if on, ok := peer.(interface{ Rounds() *transport.Rounds }); ok {
		c.holder.Reader = on.Rounds()
	}
	c.heard.Store(c.opened)
	return c
}

// Caller implements handle.Connection.
func (c *Conn) Caller() *caller.Caller { return c.caller.Load() }

// Source implements handle.Connection.
func (c *Conn) Source() *pipeline.Source { return c.source }

// Holder implements handle.Connection.
func (c *Conn) Holder() *lease.Holder { return c.holder }

// AuthThrottle implements handle.Connection.
func (c *Conn) AuthThrottle() *caller.AuthThrottle { return &c.authThrottle }

// Understands implements handle.Connection.
func (c *Conn) Understands(push protocol.Kind) bool { return c.pushes.Allows(push) }

// Data implements transport.Events.
func (c *Conn) Data(b []byte) (consumed int) {
	s, r := c.set, &c.request
	now := s.Clock()
	c.holder.Heard(now)
	r.HeardAt, r.Started = now, s.since(now)
	c.heard.Store(r.Started)
	if r.Caller == nil {
		r.Caller = c.Caller()
	}
	arrival := s.arrivals.Add(1)
	early := arrival == c.arrival+1 // no frames arrived elsewhere, so a write delays no one
	c.arrival = arrival
	open := true
	for open && consumed < len(b) {
		limit := protocol.HelloFrameBytes
		if r.Caller != nil {
			limit = int(s.Limits.RequestFrameBytes)
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
		s.Metrics.Requests[request.Kind].Inc()
		c.begin(request.Kind)
		open = c.dispatch(request)
		if open && early && consumed < len(b) {
			early = !c.flushEarly()
		}
	}
	// The commands are proposed even if the connection must close: queued commands must not wait for other
	// connections.
	for i, r := range c.touched {
		r.Pipeline.Flush()
		c.touched[i] = nil
	}
	c.touched = c.touched[:0]
	if !open || !c.flush() {
		return -1
	}
	if part := len(b) - consumed; part > 0 || c.partial.Load() > 0 {
		c.holdPartial(int64(part))
	}
	return consumed
}

// begin counts a request as unanswered.
func (c *Conn) begin(k protocol.Kind) {
	c.inFlight.Add(1)
	if k == protocol.KindAccessChange {
		c.changing.Add(1)
	}
}

// refuseUndecodable answers a request that cannot be decoded. refuseUndecodable returns false if the connection must
// be closed.
func (c *Conn) refuseUndecodable(err error) bool {
	var bad *protocol.DecodeError
	if !errors.As(err, &bad) || !bad.Answerable() || c.request.Caller == nil {
		c.closeWithReason(cutBadRequest, protocol.StatusBadRequest, err.Error())
		return false
	}
	c.begin(bad.Kind)
	result := bad.Result()
	c.Fail(pipeline.Ticket{Request: bad.ID, Kind: bad.Kind}, &result)
	return true
}

// Drained implements transport.Events: the client has caught up.
func (c *Conn) Drained() {
	for _, r := range c.set.Host.All() {
		r.Hub.Drained(c)
		r.Inboxes.Drained(c)
	}
}

// Closed implements transport.Events. Closed detaches the connection's sessions.
func (c *Conn) Closed(error) {
	c.mu.Lock()
	c.closed = true
	sessions := c.sessions.takeAll()
	c.out.drop()
	c.mu.Unlock()
	c.dropPartial()
	s, now := c.set, c.set.Clock()
	for id := range sessions {
		s.Host.ForgetSession(id, c)
	}
	c.holder.Close(now)
	for _, r := range s.Host.All() {
		r.Hub.Gone(c)
		r.Inboxes.Gone(c)
		if c.source != nil {
			r.Pipeline.Remove(c.source)
		}
	}
	s.remove(c)
	s.Host.Wake()
}

// Gone implements handle.Connection.
func (c *Conn) Gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// review closes a connection that has been silent for too long or whose token was revoked, and rechecks everything
// open after a rights change. The host's loop calls review.
func (c *Conn) review(now time.Time) {
	s, by := c.set, c.Caller()
	at := s.since(now)
	switch {
	case time.Duration(at-c.heard.Load()) > silences*s.PingInterval:
		c.cutOff(cutSilent, protocol.StatusHeartbeatTimeout, "the connection was silent for too long")
	case by == nil:
		if time.Duration(at-c.opened) > helloTime {
			c.cutOff(cutNoHello, protocol.StatusHeartbeatTimeout, "no HELLO arrived")
		}
	case !by.Valid() && c.changing.Load() > 0:
		// The client's own change may have ended its rights, as the first access rule does for anonymous clients. The
		// client receives the answer before the disconnect.
	case !by.Valid():
		c.cutOff(cutUnauthorized, protocol.StatusUnauthorized, "the token is no longer valid")
	case by.Lost():
		c.cutOff(cutLagging, protocol.StatusUnavailable, caller.Lagging)
	default:
		if m := by.Expiring(); m != nil {
			c.Push(0, m)
			c.flush()
		}
		if v := by.Version(); v != c.reviewed {
			c.reviewed = v
			c.withdraw()
		}
	}
}

// withdraw ends everything open over the connection that is no longer allowed: watches, and sessions with all their
// pushes. Such sessions are detached, and their timeouts start. A session that remains may still lose some watches,
// waits and inboxes.
func (c *Conn) withdraw() {
	all := c.set.Host.All()
	for _, rp := range all {
		rp.Hub.EndUnless(c, c.mayWatch, replica.Withdrawn)
	}
	for id, b := range c.bound() {
		c.Review(id, b.Node)
		for _, rp := range all {
			rp.Withdraw(id, c)
		}
	}
	c.flush()
}
