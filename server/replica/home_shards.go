package replica

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// A session lives in its home shard, the shard that contains its slot, and is a remote session in other shards where
// it owns or waits for something. If the local host has a replica of the home shard, the replica decides whether a
// remote session is over. Otherwise the local host asks the home shard's leader: when it first sees a remote session,
// after the leader changes, and with every sweep. The asked host remembers who asked, and notifies that host when the
// session ends. So notifications are fast, and a lost notification delays the cleanup until the next sweep at most.
//
// Silence decides nothing: a remote session is forgotten only after a replica of its home shard has declared it dead,
// and no later home shard state revives the session.

const (
	// homeCallWithin is the time limit for a call about sessions.
	homeCallWithin = time.Second
	// findWithin is the time limit for a Find, including its barrier and all hosts it asks: clients are answered
	// within 3 s.
	findWithin = 2500 * time.Millisecond
	// homePause and homePauseMost are the first and the longest pause after an unanswered call.
	homePause, homePauseMost = 20 * time.Millisecond, time.Second
	// askLedEvery is the time between two questions for a shard's leader.
	askLedEvery = time.Second
	// maxEndedKept limits the pending notifications for a host that does not answer. After homeTries unanswered calls
	// in a row they are dropped: the host asks on its own when it is back.
	maxEndedKept = 16 * maxHomeItems
	homeTries    = 60
	// maxAsking is the maximum number of concurrent questions about single sessions per home shard.
	maxAsking = 16
	// maxLost is the maximum number of losses per call. maxLostKept is the maximum number of unsent losses.
	maxLost, maxLostKept = 64, 4 * maxHomeItems
	// maxShown is the maximum number of sessions that one call describes.
	maxShown = 256
	// homeMisses is the number of consecutive unanswered calls to a home shard's leader after which a remote host is
	// asked.
	homeMisses = 2
)

// HomeShards handles sessions whose home shards are on remote hosts. Records are stored by session; the home shard is
// looked up when needed.
type HomeShards struct {
	set    *Set
	ctx    context.Context // ends with the set
	cancel context.CancelFunc
	calls  sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	peers  map[shard.HostID]*homePeer
	asks   sessionMap[struct{}] // questions
	lost   []lostHolding
	binds  map[shard.SessionID]*pendingBind
	askAll time.Time // when the bindings were last asked about
	// askLed is when shard leaders were last asked for; doubts are the shards whose leader may have changed.
	askLed time.Time
	doubts map[uint64]struct{}
	closed bool
}

// homePeer is what is waiting to be sent to a remote host.
type homePeer struct {
	ended  []EndedSession
	busy   bool // a call is in progress
	failed int  // number of consecutive unanswered calls
	next   time.Time
}

// pendingBind is a session that is about to be bound here, over one or more connections.
type pendingBind struct {
	waiting int
	over    bool // the session's end was reported meanwhile
}

func (h *HomeShards) init(s *Set) {
	h.set = s
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.peers = make(map[shard.HostID]*homePeer)
	h.binds = make(map[shard.SessionID]*pendingBind)
	h.doubts = make(map[uint64]struct{})
}

// close ends the calls.
func (h *HomeShards) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.calls.Wait()
}

// ask queues a question for the leader of a session's home shard.
func (h *HomeShards) ask(id shard.SessionID) {
	h.mu.Lock()
	first := len(h.asks.slots[id.Slot()]) == 0
	h.asks.set(id, struct{}{})
	h.mu.Unlock()
	if first {
		h.set.Wake()
	}
}

// reportEnd notifies the hosts that have asked about a session that the session has ended.
func (h *HomeShards) reportEnd(id shard.SessionID, why protocol.EndReason) {
	told := h.set.Sessions.remote.take(id)
	if len(told) == 0 {
		return
	}
	h.mu.Lock()
	for _, host := range told {
		if p := h.peer(host); len(p.ended) < maxEndedKept {
			p.ended = append(p.ended, EndedSession{ID: id, Reason: why})
		}
	}
	h.mu.Unlock()
	h.set.Wake()
}

// sendLoss sends a holding's loss to the leader of the session's home shard.
func (h *HomeShards) sendLoss(lost lostHolding) {
	lost.Name = slices.Clone(lost.Name)
	h.mu.Lock()
	h.lost = append(h.lost, lost)
	if n := len(h.lost); n > maxLostKept {
		h.lost = slices.Delete(h.lost, 0, n-maxLostKept)
	}
	h.mu.Unlock()
	h.set.Wake()
}

// peer returns what is waiting to be sent to a host. The lock is held.
func (h *HomeShards) peer(id shard.HostID) *homePeer {
	p := h.peers[id]
	if p == nil {
		p = &homePeer{}
		h.peers[id] = p
	}
	return p
}

// led is called when a shard has a new leader, because the new leader does not know whom to notify. The shards here
// ask about their remote sessions again, and the bindings are asked about.
func (h *HomeShards) led(home *Replica) {
	if home.Here() {
		h.set.Sessions.endBound(home)
		return
	}
	h.set.Sessions.askBound(home)
	for _, r := range h.set.All() {
		if r != home && r.Leads() {
			r.leader.recheck()
		}
	}
}

// run makes the due calls on the host's loop, and returns whether anything waits.
func (h *HomeShards) run(now time.Time) (waits bool) {
	h.mu.Lock()
	due := now.Sub(h.askAll) > sweepEvery
	if due {
		h.askAll = now
	}
	h.mu.Unlock()
	if due {
		for _, r := range h.set.All() {
			switch {
			case !r.Here():
				h.set.Sessions.askBound(r)
				h.doubt(r)
				continue
			}
			if !r.Leads() {
				r.Confirm(func(bool, bool) {}) // so that a partitioned replica does not count as filled
			}
		}
	}
	waits = h.askLeaders(now)
	h.notifyLed()
	h.mu.Lock()
	defer h.mu.Unlock()
	leaders, answerers := make(map[shard.HostID][]*Replica), make(map[shard.HostID][]*Replica)
	for r := range h.homes() {
		waits = true
		if l := r.Known().Leader; l != 0 && l != h.set.config.Self.ID {
			leaders[l] = append(leaders[l], r)
			h.peer(l)
		}
		if to := h.answerer(r); to != 0 {
			answerers[to] = append(answerers[to], r)
			h.peer(to)
		}
	}
	for id, p := range h.peers {
		if len(p.ended) > 0 {
			waits = true
		}
		if p.busy || h.closed || now.Before(p.next) {
			continue
		}
		if c := h.take(p, answerers[id], leaders[id]); !c.empty() {
			p.busy = true
			h.calls.Go(func() { h.exchange(id, c) })
		} else if len(leaders[id])+len(answerers[id]) == 0 {
			delete(h.peers, id)
		}
	}
	return waits
}

// homes returns the home shards with questions or losses. The lock is held.
func (h *HomeShards) homes() map[*Replica]struct{} {
	homes := make(map[*Replica]struct{})
	if h.asks.len > 0 {
		for slot, asked := range h.asks.slots {
			if len(asked) > 0 {
				homes[h.set.Of(shard.Slot(slot))] = struct{}{}
			}
		}
	}
	for i := range h.lost {
		homes[h.set.Home(h.lost[i].session())] = struct{}{}
	}
	return homes
}

// notifyLed delivers losses for sessions whose home shard the host has come to lead since the losses were recorded:
// the clients are here. Questions about sessions with such a home shard are dropped.
func (h *HomeShards) notifyLed() {
	var lost []lostHolding
	h.mu.Lock()
	for home := range h.homes() {
		if home.Leads() {
			for id := range h.asks.of(home) {
				h.asks.remove(id)
			}
			lost = append(lost, h.takeLost(home, len(h.lost))...)
		}
	}
	h.mu.Unlock()
	for i := range lost {
		h.set.Sessions.notifyLoss(&lost[i], func(c Conn) { c.Flush(false) })
	}
}

// takeLost removes up to limit losses of sessions with a home shard. The lock is held.
func (h *HomeShards) takeLost(home *Replica, limit int) (taken []lostHolding) {
	h.lost = slices.DeleteFunc(h.lost, func(l lostHolding) bool {
		take := len(taken) < limit && h.set.Home(l.session()) == home
		if take {
			taken = append(taken, l)
		}
		return take
	})
	return taken
}

// doubt records that a shard's leader may differ from the one known to the host.
func (h *HomeShards) doubt(r *Replica) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubts[r.ID] = struct{}{}
}

// askLeaders asks hosts with a replica of a shard who leads it, if the host does not know or may be wrong. An
// announcement is made once per term and connection, and may be lost.
func (h *HomeShards) askLeaders(now time.Time) (waits bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || now.Sub(h.askLed) < askLedEvery {
		return len(h.doubts) > 0
	}
	h.askLed = now
	asked := make(map[shard.HostID]homeCall)
	for _, r := range h.set.All() {
		_, doubted := h.doubts[r.ID]
		holders := r.Lookup.answerers()
		if r.Holds() || len(holders) == 0 || !doubted && r.Known().Leader != 0 {
			delete(h.doubts, r.ID)
			continue
		}
		to := holders[rand.IntN(len(holders))]
		c := asked[to]
		c.Leads = append(c.Leads, r.ID)
		asked[to] = c
	}
	for to, c := range asked {
		h.calls.Go(func() {
			a, err := h.call(h.ctx, to, c)
			if err != nil {
				return // the next round may ask a remote host
			}
			for _, l := range a.Led {
				if !slices.Contains(c.Leads, l.Shard) {
					continue
				}
				h.set.NoteLeader(l.Shard, shard.Leadership{Leader: l.Leader, Term: l.Term})
				h.mu.Lock()
				delete(h.doubts, l.Shard)
				h.mu.Unlock()
			}
		})
	}
	return len(asked) > 0
}

// answerer returns the host to ask about sessions with a given home shard, or 0. The host is the leader or, while the
// leader does not answer, a remote host with a replica. A replica that declares a session dead is always right. The
// lock is held.
func (h *HomeShards) answerer(r *Replica) shard.HostID {
	list := r.Lookup.answerers()
	for _, id := range list {
		if p := h.peers[id]; p == nil || p.failed < homeMisses {
			return id
		}
	}
	if len(list) == 0 {
		return 0
	}
	return list[0]
}

// take returns the content of one call to a host: questions for the home shards that the host can answer for, and
// losses for the shards that the host leads. The lock is held.
func (h *HomeShards) take(p *homePeer, answers, leads []*Replica) (c homeCall) {
	n := min(len(p.ended), maxHomeItems)
	c.Ended, p.ended = p.ended[:n:n], p.ended[n:]
	var asked []shard.SessionID
	for _, r := range answers {
		for id := range h.asks.of(r) {
			if len(asked) == maxHomeItems {
				break
			}
			asked = append(asked, id)
			h.asks.remove(id)
		}
	}
	for _, r := range leads {
		c.Lost = append(c.Lost, h.takeLost(r, maxLost-len(c.Lost))...)
	}
	c.Asked = packSessions(asked)
	return c
}

// exchange makes a call and processes the answer. Without an answer, the call is repeated after a pause.
func (h *HomeShards) exchange(to shard.HostID, c homeCall) {
	asked, _ := c.Asked.unpack() // packed here
	c.Losses = h.lossesOf(asked)
	a, err := h.call(h.ctx, to, c)
	if err != nil {
		a = homeAnswer{}
	}
	for i, id := range asked[:min(len(asked), len(a.Liveness))] {
		if shard.Liveness(a.Liveness[i]) == shard.Dead {
			h.over(id, protocol.EndUnknown)
		}
	}
	var unknown []shard.SessionID
	h.mu.Lock()
	p := h.peer(to)
	p.busy = false
	if err == nil {
		p.failed, p.next = 0, time.Time{}
	} else {
		p.next = h.set.Now().Add(min(homePause<<min(p.failed, 8), homePauseMost))
		if p.failed++; p.failed >= homeTries {
			c.Ended, p.ended = nil, nil
		}
		for _, r := range h.set.All() {
			if r.Known().Leader == to {
				h.doubts[r.ID] = struct{}{}
			}
		}
		if room := maxEndedKept - len(p.ended); room >= len(c.Ended) {
			p.ended = append(c.Ended, p.ended...)
		}
	}
	for i, id := range asked {
		// A host may answer Unknown because it has lost the leadership, lags, or is not filled yet, so the other hosts
		// are asked immediately. After a leader change, led asks the new leader; a lagging leader is asked again by the
		// next sweep. A call without an answer is repeated.
		if i < len(a.Liveness) && shard.Liveness(a.Liveness[i]) == shard.Unknown {
			h.doubts[h.set.Home(id).ID] = struct{}{}
			unknown = append(unknown, id)
		}
		if i >= len(a.Liveness) {
			h.asks.set(id, struct{}{})
		}
	}
	for _, lost := range c.Lost {
		home := h.set.Home(lost.session()).ID
		if err != nil || slices.Contains(a.Elsewhere, home) {
			h.doubts[home] = struct{}{}
			h.lost = append(h.lost, lost)
		}
	}
	h.mu.Unlock()
	h.set.Wake()
	h.askOthers(to, unknown)
}

// askOthers asks the other hosts with a replica of a session's home shard about sessions a host does not know, one
// after the other, until one host knows.
func (h *HomeShards) askOthers(but shard.HostID, unknown []shard.SessionID) {
	homes := make(map[*Replica][]shard.SessionID)
	for _, id := range unknown {
		home := h.set.Home(id)
		homes[home] = append(homes[home], id)
	}
	for home, ids := range homes {
		for _, to := range home.Lookup.answerers() {
			if to == but || len(ids) == 0 {
				continue
			}
			// The answer is in the order of the sorted ids.
			a, err := h.call(h.ctx, to, homeCall{Asked: packSessions(ids)})
			if err != nil || len(a.Liveness) != len(ids) {
				continue
			}
			var left []shard.SessionID
			for i, id := range ids {
				switch shard.Liveness(a.Liveness[i]) {
				case shard.Dead:
					h.over(id, protocol.EndUnknown)
				case shard.Unknown:
					left = append(left, id)
				}
			}
			ids = left
		}
	}
}

var errNoHomeCalls = errors.New("server: the host has no connection to other hosts")

// call makes one call, within homeCallWithin.
func (h *HomeShards) call(ctx context.Context, to shard.HostID, c homeCall) (a homeAnswer, err error) {
	if h.set.config.Calls == nil {
		return a, errNoHomeCalls
	}
	ctx, cancel := context.WithTimeout(ctx, homeCallWithin)
	defer cancel()
	payload, err := h.set.config.Calls.Call(ctx, to, encodeHome(homeRequest{Home: c}))
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(payload, &a)
}

// HomeShardCounts counts a host's open questions about sessions with remote home shards.
type HomeShardCounts struct {
	Waiting    int // questions, losses and ends that are waiting to be sent
	Unanswered int // hosts that have not answered the last call
}

// Counts returns the current counts.
func (h *HomeShards) Counts() (c HomeShardCounts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.Waiting = h.asks.len + len(h.lost)
	for _, p := range h.peers {
		c.Waiting += len(p.ended)
		if p.failed > 0 {
			c.Unanswered++
		}
	}
	return c
}
