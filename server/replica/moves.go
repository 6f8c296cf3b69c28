package replica

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// moves is the host's part in slot moves between shards. The old shard's leader seals a slot, and offers the slot to
// the new shard's leader. Requests for the slot wait meanwhile.
type moves struct {
	set    *Set
	ctx    context.Context // until the host closes
	cancel context.CancelFunc
	calls  sync.WaitGroup
	coming atomic.Int32 // number of expected slots

	mu       sync.Mutex // guards the fields below
	closed   bool
	waiting  map[shard.Slot]*waitingRequests
	requests int                      // in waiting
	expected map[shard.Slot]time.Time // slots that other shards are about to offer, with deadlines
	offering map[offering]time.Time
	ends     map[shard.Slot][]chan struct{} // closed when the slot changes next
}

// offering is a slot on offer, and the offering shard, which the host leads.
type offering struct {
	shard uint64
	slot  shard.Slot
}

// waitingRequests are requests that wait for one slot.
type waitingRequests struct {
	again []func(ended bool)
	timer *time.Timer
}

const (
	// requestWait is the maximum time that a request waits for a slot.
	requestWait = 100 * time.Millisecond
	// maxWaiting and maxWaitingPerSlot limit the waiting requests on a host, and for one slot.
	maxWaiting        = 10_000
	maxWaitingPerSlot = 1000
	// expectFor is the time for which a slot is expected after another shard's leader has announced the slot.
	expectFor = time.Second
	// offerWithin and commandWithin are the time limits for one offer, and for one slot command.
	offerWithin   = time.Second
	commandWithin = 2 * time.Second
	// offerAgain and offerPause are the shortest and the longest pause between two offers of a slot.
	offerAgain = 2 * time.Millisecond
	offerPause = 50 * time.Millisecond
	// checkOpenedEvery is the interval at which a leader asks whether other shards still have the slots that they
	// opened.
	checkOpenedEvery = 10 * time.Second
	// keepTransferred is how long, in milliseconds of shard time, a shard keeps a slot's content after another shard
	// has opened the slot. maxTransferred limits the bytes of kept contents.
	keepTransferred = 10 * 60 * 1000
	maxTransferred  = 64 << 20
)

func (mo *moves) init(s *Set) {
	mo.set = s
	mo.ctx, mo.cancel = context.WithCancel(context.Background())
	mo.waiting = make(map[shard.Slot]*waitingRequests)
	mo.expected = make(map[shard.Slot]time.Time)
	mo.offering = make(map[offering]time.Time)
	mo.ends = make(map[shard.Slot][]chan struct{})
}

func (mo *moves) close() {
	mo.mu.Lock()
	mo.closed = true
	for slot := range mo.waiting {
		mo.takeWaiting(slot)
	}
	mo.mu.Unlock()
	mo.cancel()
	mo.calls.Wait()
}

// begin runs a function on a goroutine, unless the host closes.
func (mo *moves) begin(f func()) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	if !mo.closed {
		mo.calls.Go(f)
	}
}

// takeWaiting removes and returns the requests that wait for a slot. The lock is held.
func (mo *moves) takeWaiting(slot shard.Slot) []func(ended bool) {
	w := mo.waiting[slot]
	if w == nil {
		return nil
	}
	w.timer.Stop()
	delete(mo.waiting, slot)
	mo.requests -= len(w.again)
	return w.again
}

// wait adds a request that waits for a slot, and returns false if too many wait.
func (mo *moves) wait(slot shard.Slot, again func(ended bool)) bool {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	w := mo.waiting[slot]
	switch {
	case mo.closed || mo.requests >= maxWaiting || w != nil && len(w.again) >= maxWaitingPerSlot:
		return false
	case w == nil:
		w = &waitingRequests{}
		w.timer = time.AfterFunc(requestWait, func() { mo.resume(slot, false) })
		mo.waiting[slot] = w
	}
	w.again = append(w.again, again)
	mo.requests++
	return true
}

// AwaitingSlots returns the number of requests that wait for slots between two shards.
func (s *Set) AwaitingSlots() int {
	s.moves.mu.Lock()
	defer s.moves.mu.Unlock()
	return s.moves.requests
}

// SealedFor returns the age of the host's oldest slot offer, 0 without offers.
func (s *Set) SealedFor() (longest time.Duration) {
	now := s.Now()
	s.moves.mu.Lock()
	defer s.moves.mu.Unlock()
	for _, began := range s.moves.offering {
		longest = max(longest, now.Sub(began))
	}
	return longest
}

// resume ends the wait of the requests for a slot. With ended set, the requests are retried. Otherwise the requests
// have waited too long, and are refused.
func (mo *moves) resume(slot shard.Slot, ended bool) {
	mo.mu.Lock()
	list := mo.takeWaiting(slot)
	if ended {
		for _, end := range mo.ends[slot] {
			close(end)
		}
		delete(mo.ends, slot)
	}
	mo.mu.Unlock()
	if len(list) > 0 {
		mo.begin(func() {
			for _, again := range list {
				again(ended)
			}
		})
	}
}

// expect records that another shard's leader is about to offer a slot to a shard that the host leads.
func (mo *moves) expect(slot shard.Slot) {
	now := mo.set.Now()
	mo.mu.Lock()
	defer mo.mu.Unlock()
	for other, until := range mo.expected {
		if !now.Before(until) {
			delete(mo.expected, other)
		}
	}
	mo.expected[slot] = now.Add(expectFor)
	mo.coming.Store(int32(len(mo.expected)))
}

func (mo *moves) expectNoMore(slot shard.Slot) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	delete(mo.expected, slot)
	mo.coming.Store(int32(len(mo.expected)))
}

func (mo *moves) expects(slot shard.Slot) bool {
	if mo.coming.Load() == 0 {
		return false
	}
	now := mo.set.Now()
	mo.mu.Lock()
	defer mo.mu.Unlock()
	return now.Before(mo.expected[slot])
}

// Course is what a host does with a request for a slot that the host does not serve.
type Course uint8

// The courses.
const (
	Again    Course = 1 + iota // the host has learned another owner: handle the request again
	Wait                       // the slot is about to leave or to arrive: see Set.AwaitSlot
	Redirect                   // answer with the result
)

// BetweenShards is the answer to a request that has waited too long for a slot. The request had no effect.
var BetweenShards = protocol.Result{Status: protocol.StatusUnavailable,
	Message: "the name moves to another shard", WaitMillis: uint64(OverloadWait.Milliseconds())}

// Elsewhere returns the course for a request that the replica does not serve, because the replica does not lead or its
// shard does not own the slot. generation is the highest generation of the slot known to the client.
func (s *Set) Elsewhere(r *Replica, slot shard.Slot, generation uint64) (Course, protocol.Result) {
	if s.moves.expects(slot) {
		return Wait, protocol.Result{}
	}
	table := s.ownerOf(slot)
	if r.Holds() {
		switch x := r.Machine.Slot(slot); x.State {
		case slots.Owned:
			table = slots.Owner{Shard: r.ID, Generation: x.Generation}
		case slots.Sealed:
			return Wait, protocol.Result{}
		default:
			way, owner := r.Machine.Route(slots.Request{Slot: slot, Generation: generation, Table: table})
			switch way {
			case slots.Serve, slots.Barrier:
				return Again, protocol.Result{}
			case slots.Park:
				return Wait, protocol.Result{}
			case slots.Unavailable:
				if table.Shard == r.ID && !r.Leads() {
					break // the replica lags behind the slot table
				}
				return Redirect, BetweenShards
			case slots.Redirect:
				table = owner
			}
			if way == slots.Redirect && s.place(slot, owner) {
				return Again, protocol.Result{}
			}
		}
	}
	return Redirect, s.movedSlot(slot, table)
}

// movedSlot returns the redirect to the shard that has a slot.
func (s *Set) movedSlot(slot shard.Slot, owner slots.Owner) protocol.Result {
	r := s.Shard(owner.Shard)
	if r == nil {
		return BetweenShards
	}
	result := s.Moved(r)
	if result.Status == protocol.StatusMoved && owner.Generation > 0 {
		// The slot's owner is all that the client needs. Without a version, the client does not ask for the routing.
		result.Moved.Slot, result.Moved.Generation, result.Moved.RoutingVersion = uint64(slot), owner.Generation, 0
	}
	return result
}

// towards returns the redirect for clients that must leave a shard because a slot has left. Unlike movedSlot, towards
// also redirects to shards that the local host leads.
func (s *Set) towards(slot shard.Slot, owner slots.Owner) protocol.Result {
	to := s.Shard(owner.Shard)
	if to == nil || to.Known().Leader == 0 {
		return BetweenShards
	}
	leader := to.Known().Leader
	return protocol.Result{Status: protocol.StatusMoved, Moved: protocol.Moved{
		ShardID: owner.Shard, LeaderHostID: uint64(leader), LeaderAddress: s.Meta.AddressOf(leader),
		Slot: uint64(slot), Generation: owner.Generation,
	}}
}

// AwaitSlot calls again with ended set once something has happened to a slot, or with ended unset after requestWait.
// AwaitSlot returns false if too many requests wait. r and generation are the arguments for which Elsewhere returned
// Wait.
func (s *Set) AwaitSlot(r *Replica, slot shard.Slot, generation uint64, again func(ended bool)) bool {
	if !s.moves.wait(slot, again) {
		return false
	}
	// The slot may have arrived since Elsewhere was called.
	if course, _ := s.Elsewhere(r, slot, generation); course != Wait {
		s.moves.resume(slot, true)
	}
	return true
}

// elsewhere handles a client's command that the machine refused, because the shard does not own the slot.
func (r *Replica) elsewhere(o *pipeline.Op, command *shard.Command, mark func(Conn)) {
	c, slot := o.Caller.(Conn), shard.SlotOf(command.Node, command.Name)
	course, result := r.set.Elsewhere(r, slot, 0)
	if course == Redirect {
		c.Fail(o.Ticket, &result)
		mark(c)
		return
	}
	op, again := *o, command.Clone()
	submit := func(ended bool) {
		to, why := r.set.Of(slot), BetweenShards
		if ended && to.Leads() && to.Pipeline.Add(op, &again) {
			to.Pipeline.Flush()
			return
		}
		if ended && !to.Leads() {
			why = r.set.movedSlot(slot, r.set.ownerOf(slot))
		}
		c.Fail(op.Ticket, &why)
		c.Flush(false)
	}
	if course == Again {
		r.set.moves.begin(func() { submit(true) })
	} else if !r.set.AwaitSlot(r, slot, 0, submit) {
		c.Fail(o.Ticket, &BetweenShards)
		mark(c)
	}
}
