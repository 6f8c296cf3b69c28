package lease_test

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// modelClient is a client that follows DESIGN.md's rules.
type modelClient struct {
	*world
	clock      modelClock
	shares     bool // shares sessions with another process, in both directions
	links      []*modelLink
	at         int // the session's home shard, to the client's knowledge
	session    shard.SessionID
	seq        uint64
	lease      time.Duration // end of belief, by the client's clock
	known      time.Duration // last answered timeout
	unresolved []time.Duration
	over       *modelLink // attached connection; nil: detached
	epoch      int        // grows whenever over changes
	asked      uint64     // the unanswered attach's sequence
	askedAt    time.Duration
	answered   time.Duration
	startedAt  time.Duration // time of the last request for a new session
	napUntil   time.Duration // stalled, or unreachable, until then
}

// modelLink is a connection.
type modelLink struct {
	client         *modelClient
	host           *modelHost
	holder         *lease.Holder
	inbox          []modelMessage
	busy           bool
	closed, gone   bool // by the client; for the host
	toHost, toHere time.Duration
}

func newModelClient(w *world, i int) *modelClient {
	c := &modelClient{world: w, clock: w.newClock(), shares: i < 2}
	w.every(300*time.Millisecond, c.tick)
	w.every(8*second, func() { c.napUntil = c.now + w.upTo(6*second) })
	return c
}

func (m modelMessage) timeout() time.Duration { return time.Duration(m.lease.timeout) }
func (c *modelClient) local() time.Duration   { return c.clock.read(c.now) }
func (c *modelClient) believes() bool         { return c.local() < c.lease }

// counted is the client's timeout: the smallest that may apply.
func (c *modelClient) counted() time.Duration {
	return min(c.known, slices.Min(append(c.unresolved, c.known)))
}

// count extends the lease according to a request sent at the given time.
func (c *modelClient) count(sent time.Duration) {
	margin := c.counted() / 10
	switch c.bug {
	case bugNoMargin:
		margin = 0
	case bugCountFromReceipt:
		sent = c.local()
	}
	c.lease = max(c.lease, sent+c.counted()-margin)
	if !c.exists(c.session) {
		c.mustNotBelieve(c.session, "it is over")
	}
}

func (c *modelClient) tick() {
	if c.now < c.napUntil {
		return
	}
	slow := c.asked != 0 && c.now-c.askedAt > second
	if slow && c.chance(50) {
		c.tally["asked again over the connection"]++
		c.asked, slow = 0, false // the answer no longer counts
	}
	if len(c.links) == 0 || c.local()-c.answered > 1500*time.Millisecond || slow || c.chance(1) {
		c.reconnect()
	}
	if c.shares && c.chance(2) {
		// Another process that knows the session and its key starts using the session.
		if other := c.clients[1-slices.Index(c.clients, c)]; other.session != 0 && c.session == 0 {
			c.session, c.seq, c.known, c.at = other.session, other.seq+1, other.known, other.at
		}
	}
	l := c.links[len(c.links)-1]
	m := modelMessage{shard: c.at, session: c.session, seq: c.seq,
		lease: modelLease{sent: int64(c.local()), epoch: c.epoch}}
	switch {
	case c.session == 0 && c.now < c.startedAt+second:
		return
	case c.session == 0:
		c.startedAt = c.now
		m.kind, m.lease.timeout = modelStart, int64(time.Duration(1+c.IntN(4))*second)
	case c.asked != 0, c.over == l && !c.chance(3), c.chance(30):
		m.kind = modelPing // for the client's other sessions, if this session is not attached
	default:
		m.kind = modelAttach
		c.seq++
		c.asked, c.askedAt = c.seq, c.now
		if m.seq = c.seq; !c.shares && c.chance(10) {
			m.change, m.lease.timeout = true, int64(time.Duration(1+c.IntN(4))*second)
			c.unresolved = append(c.unresolved, m.timeout())
			c.lease = min(c.lease, c.local()+c.counted()*9/10)
		}
	}
	l.send(m)
}

func (c *modelClient) hear(l *modelLink, m modelMessage) {
	c.answered = c.local()
	sent := time.Duration(m.lease.sent)
	if m.kind >= modelAttached && m.seq == c.asked {
		c.asked = 0
	}
	switch {
	case m.kind == modelStarted && c.session == 0:
		c.session, c.known, c.unresolved, c.lease = m.session, m.timeout(), nil, 0
		c.attachedOver(l)
		c.count(sent)
	case m.session != c.session || c.session == 0:
	case m.kind == modelAttached && m.seq != c.seq:
		c.tally["late answers to attaches"]++
	case m.kind == modelAttached && l == c.links[len(c.links)-1]:
		if m.change {
			c.tally["changed timeout"]++
			c.known = m.timeout()
			c.unresolved = slices.Delete(c.unresolved, slices.Index(c.unresolved, c.known),
				slices.Index(c.unresolved, c.known)+1)
		}
		c.attachedOver(l)
		c.count(sent)
	case m.kind == modelPong && (c.over == l && m.lease.epoch == c.epoch || c.bug == bugPongForAll):
		c.count(sent)
	case m.kind == modelDetached && c.over == l:
		c.attachedOver(nil)
	case m.kind == modelElsewhere && m.shard == c.at:
		c.tally["redirected"]++
		c.at = 1 - c.at
		c.reconnect()
	case m.kind == modelEnded:
		if c.lease > 0 && c.local()-c.lease < 500*time.Millisecond {
			c.tally["believed to the end"]++
		}
		c.session, c.lease, c.seq = 0, 0, 0
		c.attachedOver(nil)
	}
}

func (c *modelClient) attachedOver(l *modelLink) {
	if c.over != l {
		c.over = l
		c.epoch++
	}
}

// reconnect replaces the old connection. The host notices the old connection's end late or never.
func (c *modelClient) reconnect() {
	if n := len(c.links); n > 0 {
		old := c.links[n-1]
		old.closed = true
		if c.chance(70) {
			c.after(c.delay(), func() {
				old.host.run(func() {
					old.gone = true
					old.holder.Close(old.host.local())
				})
			})
		}
	}
	c.attachedOver(nil)
	c.asked = 0
	if c.session == 0 && len(c.shards) > 1 {
		c.at = c.IntN(len(c.shards))
	}
	h := c.shards[c.at].leader.modelHost
	if c.chance(20) {
		h = c.pick()
	}
	c.links = append(c.links, &modelLink{client: c, host: h, holder: lease.NewHolder(h.local())})
	c.answered = c.local()
}

// send sends to the host; frames arrive in order.
func (l *modelLink) send(m modelMessage) {
	w := l.client.world
	l.toHost = max(l.toHost, w.now+w.delay())
	w.after(l.toHost-w.now, func() {
		l.inbox = append(l.inbox, m)
		l.host.run(l.pump)
	})
}

// pump is a turn in the connection's event loop.
func (l *modelLink) pump() {
	if l.busy || l.gone || len(l.inbox) == 0 {
		return
	}
	h, m := l.host, l.inbox[0]
	l.inbox, l.busy = l.inbox[1:], true
	now := h.local()
	if h.bug == bugTimeBeforeReading {
		now = now.Add(-h.upTo(2 * second))
	}
	if h.IntN(2_000) == 0 { // a stall after reading the clock
		h.pause()
	}
	h.run(func() {
		l.serve(m, now)
		l.busy = false
		l.pump()
	})
}

func (l *modelLink) serve(m modelMessage, now time.Time) {
	h := l.host
	if m.kind != modelPing {
		l.holder.Heard(now)
		h.replicas[m.shard].handle(l, m, now)
		return
	}
	if !l.holder.MayPong(now) {
		h.tally["pong withheld"]++
		return
	}
	h.tally["pong"]++
	m.kind = modelPong
	if h.IntN(2_000) == 0 { // a stall before sending the pong
		h.pause()
	}
	h.run(func() { l.toClient(m) })
}

// toClient sends to the client; frames arrive in order, if the client still listens.
func (l *modelLink) toClient(m modelMessage) {
	w := l.client.world
	l.toHere = max(l.toHere, w.now+w.delay())
	l.toHere = max(l.toHere, l.client.napUntil)
	w.after(l.toHere-w.now, func() {
		if !l.closed {
			l.client.hear(l, m)
		}
	})
}
