package replica

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// leaderTasks are a host's tasks for a shard it leads. They begin with a command: after it is applied, everything
// from earlier leaders is applied as well, and earlier leaders' clocks no longer count. All tasks run on the host's
// loop; other goroutines only leave work for the loop under the lock.
type leaderTasks struct {
	r *Replica

	serving atomic.Bool // the sessions are known and may attach; set under the lock

	mu        sync.Mutex // guards the fields below
	term      uint64     // 0: the host does not lead
	proposed  bool       // the first command is in progress
	begun     bool       // the command was applied; sessions must be read
	again     bool       // a session or node appeared that may be dead
	suspects  []shard.SessionID
	ended     []shard.SessionID // reported by replicas of their home shards
	withdrawn []shard.WaiterRef
	quotas    []shard.NodeID       // nodes whose quotas must be compared
	allowed   allowance            // the latest report from the other hosts
	awaiting  []func(serving bool) // until sessions are known, or the leadership ends
	drops     drops
	sweptAt   time.Time // when the leader last started to ask about all remote sessions

	raising    atomic.Bool // a raise of the shard's level is in progress
	continuing atomic.Bool // a step of work left by commands is in progress
	dueing     atomic.Bool // a command for an alarm or beat is in progress
	dueMore    atomic.Bool // the last command has left more

	// Used on the host's loop only.
	sweep     sweep
	due       []lease.Expiry
	waitTried time.Time // last attempt of beginWait
	routing   uint64    // version of the slot table that the shard's slots were compared with
	// checkedSlots is when the leader last asked about slots that other shards have opened.
	checkedSlots time.Time
	dueAt        uint64 // estimated shard time at which an alarm command was proposed
}

// stage is a leadership's progress.
type stage struct {
	term                     uint64
	proposed, begun, serving bool
}

// stage returns the state for one run of the tasks, in a single read. Concurrent changes wait for the next run.
// Otherwise a leadership that has just ended could look like a new leadership with leases to restore.
func (t *leaderTasks) stage() stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return stage{term: t.term, proposed: t.proposed, begun: t.begun, serving: t.serving.Load()}
}

func (t *leaderTasks) init(r *Replica) { t.r = r }

// ready reports whether the host leads the shard, with all sessions restored.
func (t *leaderTasks) ready() bool { return t.serving.Load() }

// begin is called when the host becomes the shard's leader.
func (t *leaderTasks) begin(term uint64) {
	t.r.endLeases(protocol.Result{Status: protocol.StatusUnavailable,
		Message: "the shard leader was just elected again"})
	t.r.Pipeline.Elect(term)
	t.r.set.Sessions.remote.forgetLosses(t.r)
	t.r.timeouts.begin(term)
	t.mu.Lock()
	t.term, t.proposed, t.begun, t.again = term, false, false, true
	t.drops.forget()
	t.serving.Store(false)
	t.mu.Unlock()
	t.r.set.Wake()
}

// end is called when the host no longer leads the shard: its clients are redirected.
func (t *leaderTasks) end() {
	t.mu.Lock()
	t.term, t.proposed, t.begun = 0, false, false
	t.suspects, t.ended, t.withdrawn, t.quotas = nil, nil, nil, nil
	t.drops.forget()
	t.serving.Store(false)
	awaiting := t.awaiting
	t.awaiting = nil
	t.mu.Unlock()
	for _, done := range awaiting {
		done(false)
	}
	r := t.r
	r.timeouts.begin(0)
	result := r.set.Moved(r)
	r.Pipeline.Abandon(result)
	r.waits.redirect(result)
	r.Inboxes.End(result)
	r.endLeases(result)
}

// recheck requests another check of all sessions and nodes here that may be dead.
func (t *leaderTasks) recheck() {
	t.recheckLater()
	t.r.set.Wake()
}

// recheckLater is recheck without a wake-up, for use if an immediate check would be in vain.
func (t *leaderTasks) recheckLater() {
	t.mu.Lock()
	t.again = true
	t.mu.Unlock()
}

// suspect reports a session that has just appeared here, and may be dead.
func (t *leaderTasks) suspect(id shard.SessionID) {
	t.mu.Lock()
	t.suspects = append(t.suspects, id)
	t.mu.Unlock()
	t.r.set.Wake()
}

// over reports a session that is over, according to a replica of its home shard here or on a remote host.
func (t *leaderTasks) over(id shard.SessionID) {
	t.mu.Lock()
	if t.term != 0 {
		t.ended = append(t.ended, id)
	}
	t.mu.Unlock()
	t.r.set.Wake()
}

// run does the due tasks.
func (t *leaderTasks) run(now time.Time) {
	r, s := t.r, t.stage()
	watched := r.Hub.Len() > 0 || r.OneShots.watching.Load() > 0
	// A leader needs a barrier to fill its replica, and makes the barrier as soon as the barrier also counts for its
	// leases.
	unfilled := !r.Filled() && (s.serving || s.term == 0 && r.Leader().Leader != 0)
	r.fresh.check(now, watched || unfilled || s.term != 0 && r.Machine.Sessions() > 0)
	r.endStaleWatches(now, watched)
	if s.term != 0 && r.set.Meta.CaughtUp() {
		t.step(now, s)
	}
}

// step does a leader's tasks for the given stage.
func (t *leaderTasks) step(now time.Time, s stage) {
	r := t.r
	switch {
	case !s.proposed:
		t.propose(s.term)
		return
	case !s.begun:
		return
	case r.Machine.Term() != s.term:
		return // a later leader's command was applied: this leadership is over, and end will be called
	case !s.serving:
		t.routing = 0
		now = t.restoreLeases(s.term)
	}
	r.RelyOnGrace()
	t.raiseLevel()
	t.continueWork()
	t.proposeDue(s.term)
	r.timeouts.check(s.term, now)
	t.beginWait(s.term, now)
	t.checkDigest(now)
	t.expire(now)
	t.proposeWithdrawals(s.term)
	t.reconcile(now)
	t.proposeQuotas()
	t.moveSlots(now)
}

// propose invalidates earlier leaders' clocks.
func (t *leaderTasks) propose(term uint64) {
	t.mu.Lock()
	t.proposed = true
	t.mu.Unlock()
	done := func(e *shard.Effect, _ protocol.Status) {
		applied := e != nil && e.Status == protocol.StatusSuccess
		t.mu.Lock()
		if t.term == term {
			t.begun, t.proposed = applied, applied
		}
		t.mu.Unlock()
		if applied {
			t.r.set.Wake() // otherwise the next tick is soon enough
		}
	}
	t.r.Pipeline.Lead(term, done)
}

// restoreLeases takes over the sessions: every session gets its timeout and its node's grace period before it may
// end. It returns the beginning of the leases.
func (t *leaderTasks) restoreLeases(term uint64) (now time.Time) {
	r := t.r
	r.endLeases(protocol.Result{Status: protocol.StatusUnavailable,
		Message: "the shard leader was just elected again"})
	_, changes := r.Machine.Owns(0)
	now = r.set.Now() // read after the term's first command was applied, and after the change count
	r.Leases.Lead(term, changes, now)
	r.Leases.Reserve(r.Machine.Sessions())
	r.RelyOnGrace()
	var longest shard.Longest
	for at, over := shard.Cursor(0), false; !over; {
		at, over = r.Machine.WalkSessions(at, func(v shard.SessionView) {
			if v.Home {
				r.Leases.Restore(v.ID, v.Node, millis(v.Timeout), now)
				longest = longest.Over(shard.Longest{Timeout: v.Timeout, Session: v.ID})
			}
		})
	}
	r.timeouts.found(term, longest, now)
	r.Leases.Restored()
	t.mu.Lock()
	still := t.term == term
	var awaiting []func(bool)
	if still {
		t.serving.Store(true)
		awaiting, t.awaiting = t.awaiting, nil
	}
	t.mu.Unlock()
	for _, done := range awaiting {
		done(true)
	}
	if !still {
		r.endLeases(r.set.Moved(r))
	}
	return now
}

// maxAwaiting is the maximum number of clients that may wait for a newly elected leader. Other clients are refused,
// and retry.
const maxAwaiting = 4096

// OnceServing calls done when the host serves as the shard's leader, possibly at once, or when it no longer leads.
// OnceServing returns false, without calling done, if the host does not lead, or too many wait. A new leader with a
// million sessions serves half a second after its election: clients that wait here are served at that time, instead
// of after the retry pause of a repeatedly refused client.
func (r *Replica) OnceServing(done func(serving bool)) bool {
	t := &r.leader
	t.mu.Lock()
	if !t.serving.Load() {
		defer t.mu.Unlock()
		if t.term == 0 || len(t.awaiting) == maxAwaiting {
			return false
		}
		t.awaiting = append(t.awaiting, done)
		return true
	}
	t.mu.Unlock()
	done(true)
	return true
}

// expire ends the sessions that were silent for too long. A client with an open connection is notified at once that
// its session is detached, and later about the end.
func (t *leaderTasks) expire(now time.Time) {
	r := t.r
	for {
		var by lease.Basis
		t.due, by = r.Leases.Due(now, expireBatch, t.due[:0])
		if len(t.due) == 0 {
			return
		}
		ids := make([]shard.SessionID, len(t.due))
		for i, x := range t.due {
			ids[i] = x.Session
			if x.Holder != nil {
				r.set.Sessions.detachSilent(x.Session, x.Holder)
			}
		}
		if !t.proposeEnd(by, ids) {
			return
		}
	}
}

// proposeEnd proposes to end sessions that were silent for too long, in several commands if one is not enough.
// proposeEnd returns false if the shard's queue is full.
func (t *leaderTasks) proposeEnd(by lease.Basis, ids []shard.SessionID) bool {
	r := t.r
	done := func(e *shard.Effect, failed protocol.Status) {
		switch {
		case e != nil && e.Status == protocol.StatusSuccess:
			var rest []shard.SessionID
			for _, id := range ids {
				if e.Flags&shard.FlagMore != 0 && r.Machine.Liveness(id) == shard.Alive {
					rest = append(rest, id)
				} else if lost := r.Leases.RemoveExpired(by, id); lost != nil { // the session was already over
					lost.Reported(1)
				}
			}
			if len(rest) > 0 {
				t.proposeEnd(by, rest)
			}
		case e != nil, failed == protocol.StatusOverloaded: // without effect, because the shard's slots have changed
			r.Leases.Dropped(by, ids, r.set.Now())
		default:
			r.Leases.Undecided(by, ids, r.set.Now())
		}
	}
	return r.propose(&shard.Command{Kind: shard.CmdSessionsExpire, Term: by.Term, Count: by.Changes,
		Sessions: ids}, nil, done)
}

// continueWork proposes the next step for commands whose work is not complete.
func (t *leaderTasks) continueWork() {
	r := t.r
	if r.Machine.Pending() == 0 || t.continuing.Swap(true) {
		return
	}
	done := func(*shard.Effect, protocol.Status) { t.continuing.Store(false) } // remaining work then wakes the loop
	r.propose(&shard.Command{Kind: shard.CmdContinue}, nil, done)
}

// proposeWithdrawals removes waiters from their queues if their clients have lost the right to wait.
func (t *leaderTasks) proposeWithdrawals(term uint64) {
	r := t.r
	t.mu.Lock()
	refs := t.withdrawn
	t.withdrawn = nil
	t.mu.Unlock()
	again := func(refs ...shard.WaiterRef) {
		t.mu.Lock()
		if t.term == term {
			t.withdrawn = append(t.withdrawn, refs...)
		}
		t.mu.Unlock()
	}
	for i, ref := range refs {
		done := func(e *shard.Effect, _ protocol.Status) {
			if e == nil {
				again(ref)
			}
		}
		if !r.propose(&shard.Command{
			Kind: shard.CmdWaiterWithdraw, Node: ref.Node, Name: ref.Name,
			Session: ref.Session, Order: ref.Order, Number: ref.Number,
		}, nil, done) {
			again(refs[i+1:]...)
			return
		}
	}
}

// withdraw removes a waiter from its queue.
func (t *leaderTasks) withdraw(ref shard.WaiterRef) {
	t.mu.Lock()
	t.withdrawn = append(t.withdrawn, ref)
	t.mu.Unlock()
	t.r.set.Wake()
}

// endStaleWatches ends a replica's watches if the replica could not be proven up to date for a long time: its clients
// are better served by a remote host.
func (r *Replica) endStaleWatches(now time.Time, watched bool) {
	window, _ := r.set.timing.window()
	if watched && r.fresh.age(now) > window+staleAfter {
		r.Hub.End(protocol.Result{Status: protocol.StatusUnavailable,
			Message: "the host cannot confirm that its data is up to date"})
		r.OneShots.forget()
	}
}
