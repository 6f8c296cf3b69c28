package session

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// minMargin is the minimum time by which a client gives up a session before the session may end.
	minMargin = 10 * time.Millisecond
	// minTryTimeout is the minimum time for a host to answer one attach attempt.
	minTryTimeout = 50 * time.Millisecond
)

// Group has the state shared by one client's incarnations.
type Group struct {
	scope       *lifecycle.Scope
	cluster     *cluster.Cluster
	dialTimeout time.Duration
	stops       stopQueue
	// mutations belong to one client, because their channels may belong to a synctest bubble and must not be used
	// outside it.
	mutations sync.Pool
}

// NewGroup returns a client's group.
func NewGroup(s *lifecycle.Scope, c *cluster.Cluster, dialTimeout time.Duration) *Group {
	g := &Group{scope: s, cluster: c, dialTimeout: dialTimeout}
	g.stops = stopQueue{group: g, wake: make(chan struct{}, 1)}
	g.mutations.New = func() any { return &mutation{wake: make(chan struct{}, 1)} }
	return g
}

// Owner is the user's session. Its methods are called with the incarnation's lock held, except for AttachFailed and
// LimitMismatch.
type Owner interface {
	Attached(in *Incarnation)
	Detached(in *Incarnation, why error)
	AttachFailed(in *Incarnation, why error)
	// EndError returns the error for everything that fails because the incarnation ends.
	EndError(id uint64, reason Reason, detail string) error
	Ended(in *Incarnation, reason Reason, cause error)
	// NewLease returns a lease and the user-visible value around it, which Lease.User returns.
	NewLease() (l *Lease, user any)
	// LimitMismatch reports that an acquire found a limit other than the named limit.
	LimitMismatch(name string, named, limit uint64)
}

// Reason is why an incarnation ended.
type Reason int

// Reasons, in the order of client.EndReason, which documents them.
const (
	Unknown Reason = iota
	Silence
	Expired
	Destroyed
	NodeDropped
	Taken
	Closed
)

// Incarnation is one session at its hosts. Lock order: an incarnation's lock, its owner's or a connection's lock, the
// scope's lock.
type Incarnation struct {
	group     *Group
	owner     Owner
	id        uint64
	nodeID    uint64
	key       []byte
	timeout   time.Duration
	trust     time.Duration // how long the client counts on the session from the base: the timeout without the margin
	grace     time.Duration
	stripe    int
	startedAt lifecycle.Instant
	ctx       context.Context // ends with the incarnation, with cause
	cancel    context.CancelCauseFunc

	mu       sync.Mutex    // guards the fields below
	cause    error         // reason for the end; nil before
	sequence uint64        // from the latest attach
	home     *conn.Conn    // has the session attached; nil while detached
	returned chan struct{} // closed once home is set again; nil while no call waits
	last     *conn.Conn    // the home before
	// The lease counts from sent, when the latest answered SESSION_START or SESSION_ATTACH was sent. A ping counts only
	// if it was sent after since, because only then the session was attached.
	sent, since lifecycle.Instant
	timer       *time.Timer
	bound       map[*conn.Conn]*binding
	attaching   bool                    // a goroutine attaches the session again
	looks       []*look                 // each has a goroutine that verifies leases
	lost        []protocol.LostHoldings // in rebuilt shards, in the order in which the client has heard of them

	numbers sequences
	queues  map[string]*keyQueue
	notices map[*notice]struct{}
	inboxes map[string]*Inbox // by process
}

// ID returns the session id.
func (in *Incarnation) ID() uint64 { return in.id }

// NodeID returns the id of the session's node.
func (in *Incarnation) NodeID() uint64 { return in.nodeID }

// Context returns a context that ends with the incarnation and its cause.
func (in *Incarnation) Context() context.Context { return in.ctx }

// Err checks the clock. It returns nil while the session is alive, and the reason for its end afterwards.
func (in *Incarnation) Err() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.alive() // ends the session if the deadline has passed
	return in.cause
}

// Age returns how long ago the incarnation began.
func (in *Incarnation) Age() time.Duration { return in.group.scope.Now().Sub(in.startedAt) }

// Begin passes the incarnation to its owner, unless accept returns an error. accept is called with the lock held; ended
// is why the incarnation is already over, or nil.
func (in *Incarnation) Begin(accept func(ended error, attached bool) error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := accept(in.cause, in.home != nil); err != nil {
		return err
	}
	if in.home == nil {
		if in.timeout > 0 {
			in.arm()
		}
		in.reattach()
	}
	return nil
}

// margin is how long before a lease ends the client gives the lease up, to allow for clock drift and for the time
// between reading the clock and acting.
func margin(timeout time.Duration) time.Duration {
	return min(max(timeout/10, minMargin), timeout/2)
}

// base is the time from which the lease counts. The lock is held, here and below.
func (in *Incarnation) base() lifecycle.Instant {
	if in.home != nil {
		if v := in.home.LastVouched(); v > in.since {
			return v
		}
	}
	return in.sent
}

// alive checks the clock, reports whether the session is alive, and ends the session if not.
func (in *Incarnation) alive() bool {
	if in.cause != nil {
		return false
	}
	if in.timeout > 0 && in.group.scope.Now() >= in.base().Add(in.trust) {
		in.end(Silence, "")
		return false
	}
	return true
}

// arm sets the timer to the deadline.
func (in *Incarnation) arm() {
	left := in.base().Add(in.trust).Sub(in.group.scope.Now())
	if in.timer == nil {
		in.timer = time.AfterFunc(left, in.checkDeadline)
	} else {
		in.timer.Reset(left)
	}
}

// checkDeadline ends the session if its lease has expired. The lock is not held.
func (in *Incarnation) checkDeadline() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.alive() && in.timeout > 0 {
		in.arm()
	}
}

// Resumed implements conn.Session. The lease went on while the machine was suspended.
func (in *Incarnation) Resumed() { in.checkDeadline() }

// End ends the incarnation. It returns false if the incarnation was already over.
func (in *Incarnation) End(reason Reason, detail string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	over := in.cause != nil
	in.end(reason, detail)
	return !over
}

// end is End with the lock held. If the lease has expired on the client's clock, the reason is Silence rather than
// Expired: a paused process may read the host's message before its own timer runs, but the client no longer relied on
// the session.
func (in *Incarnation) end(reason Reason, detail string) {
	if in.cause != nil || reason == Expired && !in.alive() {
		return
	}
	in.cause = in.owner.EndError(in.id, reason, detail)
	// A goroutine that sees a lease end must also see the session end, so the session ends first.
	in.cancel(in.cause)
	in.owner.Ended(in, reason, in.cause)
	for _, q := range in.queues {
		if q.lease != nil {
			q.lease.lose(in.cause)
		}
		if m := q.waiting; m != nil && m.phase == queued {
			m.conn.Forget(m.id)
		}
	}
	if in.timer != nil {
		in.timer.Stop()
	}
	for n := range in.notices {
		in.notify(n, false, false)
	}
	if in.home != nil {
		in.home.RemoveSession(in.id, in)
		in.removeHome()
	}
	for c := range in.bound {
		c.RemoveSession(in.id, in)
	}
	if reason == Silence {
		in.stopAfterTimeout()
	}
}
