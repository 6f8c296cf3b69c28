package client

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// life is one session at its hosts, from SESSION_START to its end. A Session of the user has one, or with
// Renew one after the other.
//
// Locks are taken in this order: that of a life, that of a link, that of the client. What a life is told by
// connections comes on the goroutines that read them.
type life struct {
	client  *Client
	session *Session
	id      uint64
	nodeID  uint64
	key     []byte
	timeout time.Duration
	grace   time.Duration
	stripe  int
	born    instant
	ctx     context.Context // ends with the life, with the *SessionEnd
	end     context.CancelCauseFunc

	mu       sync.Mutex // guards what follows
	cause    *SessionEnd
	sequence uint64 // of the latest attach
	home     *link  // that the life is attached over; nil while it is detached
	last     *link  // the home before
	// The lease counts from sent, when the latest SESSION_START or SESSION_ATTACH that was answered was
	// sent. A ping counts for a life that was attached when it was sent, so after since.
	sent, since instant
	timer       *time.Timer
	bound       map[*link]*binding
	away        bool // it is being attached again
	checking    bool // its leases are being verified
	gaps        int  // how often something about its leases may have been missed

	numbers numbers
	room    chan struct{} // closed when a number may be given again
	lanes   map[string]*lane
	notices map[*notice]struct{}
}

// margin is how long before its end a client gives a lease up: for clocks that run at different speeds, and
// for the time between looking at the clock and acting.
func margin(timeout time.Duration) time.Duration {
	return min(max(timeout/10, minMargin), timeout/2)
}

// base is the moment that the lease counts from. The lock is held, here and below.
func (x *life) base() instant {
	if x.home != nil {
		if v := x.home.pulse.lastVouched(); v > x.since {
			return v
		}
	}
	return x.sent
}

// deadline is when the client gives the session up.
func (x *life) deadline() instant { return x.base().add(x.timeout - margin(x.timeout)) }

// aliveLocked tells whether the session can be counted on, by the clock of this moment, and ends it if not.
func (x *life) aliveLocked() bool {
	if x.cause != nil {
		return false
	}
	if x.timeout > 0 && x.client.clock.now() >= x.deadline() {
		x.overLocked(EndSilence, "")
		return false
	}
	return true
}

// tick looks whether the lease has run out.
func (x *life) tick() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.aliveLocked() {
		x.arm()
	}
}

// attachedOver puts the life on a link, once the answer to an attach that was sent at a moment is there. It
// runs on the goroutine that reads the link.
func (x *life) attachedOver(l *link, sequence uint64, sentAt instant, lease *protocol.Lease) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cause != nil || sequence != x.sequence || !l.carry(x) {
		return
	}
	if x.home != nil {
		x.unhome()
	}
	x.home, x.sent, x.since = l, sentAt, x.client.clock.now()
	x.grace = millis(lease.GraceMillis)
	delete(x.bound, l)
	if x.timeout > 0 {
		l.pulse.join(x.timeout)
		x.arm()
	}
	x.session.notify(x, Attached, nil)
}

// arm sets the timer to the deadline. The lock is held, here and below.
func (x *life) arm() {
	left := x.deadline().sub(x.client.clock.now())
	if x.timer == nil {
		x.timer = time.AfterFunc(left, x.tick)
	} else {
		x.timer.Reset(left)
	}
}

// unhome takes the life off its home link, and keeps what the link's pings have brought it.
func (x *life) unhome() {
	x.sent = x.base()
	if x.timeout > 0 {
		x.home.pulse.leave(x.timeout)
	}
	x.home, x.last = nil, x.home
}

// linkDown is told that a link of the life is down.
func (x *life) linkDown(l *link, why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.off(l, why)
}

// detached is told that the life is no longer attached over, or bound to, a link that is up.
func (x *life) detached(l *link, result *protocol.Result) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case l != x.home:
	case result.Status == protocol.StatusBadSession:
		x.overLocked(EndTaken, result.Message)
		return
	case result.Status == protocol.StatusTimeout:
		x.overLocked(EndExpired, result.Message)
		x.lay() // the host's word is that its end is under way, not that it will come
		return
	}
	if result.Status == protocol.StatusMoved {
		x.client.cluster.moved(&result.Moved, l)
	}
	l.drop(x)
	x.off(l, result.Err())
}

// off takes the life off a link: what waits there has to be asked for again, elsewhere.
func (x *life) off(l *link, why error) {
	if x.cause != nil {
		return
	}
	delete(x.bound, l)
	for _, lane := range x.lanes {
		if m := lane.waiting; m != nil && m.link == l {
			x.drift(m)
		}
	}
	for n := range x.notices {
		if n.link == l {
			x.fire(n, false, false)
		}
	}
	x.gaps++
	x.check()
	if l == x.home {
		x.unhome()
		if x.timeout == 0 {
			x.overLocked(EndExpired, "it had no timeout, and its connection is lost")
			return
		}
		x.session.notify(x, Detached, why)
		x.comeBack()
	}
}

// stray deals with a host that does not know the session over a link. It returns false where that has
// happened too often.
func (x *life) stray(l *link, r *retries) bool {
	if r.strays++; r.strays > strayTries {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.home == l || x.bound[l] != nil {
		l.drop(x)
		x.off(l, ErrBadSession)
	}
	return true
}

// over ends the life.
func (x *life) over(reason EndReason, detail string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.overLocked(reason, detail)
}

func (x *life) overLocked(reason EndReason, detail string) {
	if x.cause != nil {
		return
	}
	x.cause = &SessionEnd{SessionID: x.id, Reason: reason, Detail: detail}
	// Who hears of the end of a lease finds the session ended too.
	x.end(x.cause)
	x.session.ended(x)
	for _, lane := range x.lanes {
		if lane.lease != nil {
			lane.lease.lose(x.cause)
		}
		if m := lane.waiting; m != nil && m.phase == queued {
			m.link.forget(m.id)
		}
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	for n := range x.notices {
		x.fire(n, false, false)
	}
	if x.home != nil {
		x.home.drop(x)
		x.unhome()
	}
	for l := range x.bound {
		l.drop(x)
	}
	if reason == EndSilence {
		x.lay()
	}
}

// holdingLost is told that the session owns a semaphore no more.
func (x *life) holdingLost(p *protocol.HoldingLost) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.Reason == protocol.AbortNodeDropped && p.NodeID == x.nodeID {
		x.overLocked(EndNodeDropped, "") // its home will say so too
		return
	}
	lane := x.lanes[string(p.Name)]
	if lane == nil || p.NodeID != x.nodeID {
		return
	}
	if lane.lease != nil && lane.lease.order == p.OrderID {
		lane.lease.lose(lost(p.Reason))
		lane.lease = nil
		x.tidy(lane)
		return
	}
	lane.early = earlyLoss{order: p.OrderID, cause: lost(p.Reason)}
}

// slot returns the slot of one of the session's semaphores.
func (x *life) slot(name string) uint16 {
	return protocol.SemaphoreSlot(x.nodeID, protocol.View(name))
}
