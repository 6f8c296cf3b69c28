package session

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
)

const (
	// minMargin is the least time by which a client gives up a session before the session may end.
	minMargin = 10 * time.Millisecond
	// minTryTimeout is the least time that a host gets to answer one try to attach.
	minTryTimeout = 50 * time.Millisecond
)

// Group has the state that the incarnations of one client share.
type Group struct {
	scope       *lifecycle.Scope
	cluster     *cluster.Cluster
	dialTimeout time.Duration
	stops       stopQueue
	// mutations belong to one client, because the channels in them may be channels of a synctest bubble, and nothing
	// outside may touch the channels of a bubble.
	mutations sync.Pool
}

// NewGroup returns the group of a client.
func NewGroup(s *lifecycle.Scope, c *cluster.Cluster, dialTimeout time.Duration) *Group {
	g := &Group{scope: s, cluster: c, dialTimeout: dialTimeout}
	g.stops = stopQueue{group: g, wake: make(chan struct{}, 1)}
	g.mutations.New = func() any { return &mutation{wake: make(chan struct{}, 1)} }
	return g
}

// Owner is the session of the user. The methods are called with the lock of the incarnation held, except for
// AttachFailed and LimitMismatch.
type Owner interface {
	Attached(in *Incarnation)
	Detached(in *Incarnation, why error)
	AttachFailed(in *Incarnation, why error)
	// EndError is the error of everything that fails because the incarnation ends.
	EndError(id uint64, reason Reason, detail string) error
	Ended(in *Incarnation, reason Reason, cause error)
	// NewLease returns a lease, and the value around it that the user gets and that Lease.User returns.
	NewLease() (l *Lease, user any)
	// LimitMismatch: an acquire that named a limit found another limit.
	LimitMismatch(name string, named, limit uint64)
}

// Reason is why an incarnation ended.
type Reason int

// The reasons, in the order of client.EndReason, where the meaning of each reason stands.
const (
	Unknown Reason = iota
	Silence
	Expired
	Destroyed
	NodeDropped
	Taken
	Closed
)

// Incarnation is one session at its hosts. Locks are taken in this order: the lock of an incarnation, the lock of its
// owner or of a connection, the lock of the scope.
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
	cause    error         // of the end; nil before
	sequence uint64        // of the latest attach
	home     *conn.Conn    // has the session attached; nil while detached
	returned chan struct{} // closed once home is set again; nil while no call waits
	last     *conn.Conn    // the home before
	// The lease counts from sent, the moment of sending of the latest SESSION_START or SESSION_ATTACH that was
	// answered. A ping counts only if it was sent after since, because the session was attached then.
	sent, since lifecycle.Instant
	timer       *time.Timer
	bound       map[*conn.Conn]*binding
	attaching   bool              // a goroutine attaches the session again
	looks       []*look           // each has a goroutine that verifies leases
	fences      map[uint64]uint64 // by shard: the session holds nothing there below the order id

	numbers sequences
	queues  map[string]*keyQueue
	notices map[*notice]struct{}
	inboxes map[string]*Inbox // by process
}

// ID returns the id of the session.
func (in *Incarnation) ID() uint64 { return in.id }

// NodeID returns the id of the session's node.
func (in *Incarnation) NodeID() uint64 { return in.nodeID }

// Context returns a context that ends with the incarnation, with its cause.
func (in *Incarnation) Context() context.Context { return in.ctx }

// Err returns nil while the session can be counted on, by the clock of this moment, and the cause of the session's end
// afterwards.
func (in *Incarnation) Err() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.alive() // ends the session if the deadline has passed
	return in.cause
}

// Age returns how long ago the incarnation began.
func (in *Incarnation) Age() time.Duration { return in.group.scope.Now().Sub(in.startedAt) }

// Begin hands the incarnation to its owner, unless accept returns an error. accept is called with the lock held; ended
// is why the incarnation is over already, nil if it is not.
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

// margin is how long before the end of a lease the client gives the lease up: for clocks that run at different speeds,
// and for the time between reading the clock and acting.
func margin(timeout time.Duration) time.Duration {
	return min(max(timeout/10, minMargin), timeout/2)
}

// base is the moment from which the lease counts. The lock is held, here and below.
func (in *Incarnation) base() lifecycle.Instant {
	if in.home != nil {
		if v := in.home.LastVouched(); v > in.since {
			return v
		}
	}
	return in.sent
}

// alive reports whether the session can be counted on, by the clock of this moment, and ends the session if not.
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

// checkDeadline ends the session if its lease has run out. The lock is not held.
func (in *Incarnation) checkDeadline() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.alive() && in.timeout > 0 {
		in.arm()
	}
}

// Resumed implements conn.Session. The lease went on while the machine was suspended.
func (in *Incarnation) Resumed() { in.checkDeadline() }

// End ends the incarnation. It returns false if the incarnation was over already.
func (in *Incarnation) End(reason Reason, detail string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	over := in.cause != nil
	in.end(reason, detail)
	return !over
}

// end is End with the lock held. If the lease has run out by the client's clock, the reason is Silence and not
// Expired: a process that stood still may read the host's message before its own timer runs, but the client did not
// count on the session any more.
func (in *Incarnation) end(reason Reason, detail string) {
	if in.cause != nil || reason == Expired && !in.alive() {
		return
	}
	in.cause = in.owner.EndError(in.id, reason, detail)
	// A goroutine that sees the end of a lease must see the end of the session too, so the session ends first.
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
