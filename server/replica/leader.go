package replica

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// leaderTasks are what a host does for a shard because it leads it. They begin with a command: when that is applied,
// everything of earlier leaders has been, and their clocks count no more. All of them run on the host's loop, but for
// what other goroutines leave for it under the lock.
type leaderTasks struct {
	r *Replica

	serving atomic.Bool // the sessions and timers are known; sessions may attach. Set under the lock

	mu       sync.Mutex // guards what follows
	term     uint64     // 0: this host does not lead
	proposed bool       // the first command is under way
	begun    bool       // it was applied; the sessions are to be read
	again    bool       // something appeared that may be dead
	suspects []shard.SessionID
	late     []shard.WaiterRef // timed out, but the command was lost, or withdrawn
	quotas   []shard.NodeID    // whose quotas are to be compared
	drops    drops

	raising    atomic.Bool // a rise of the shard's level is under way
	continuing atomic.Bool // so is a step of what commands have left
	dueing     atomic.Bool // and what is due by the time of the shard

	// Used on the host's loop only.
	sweptAt time.Time
	sweep   sweep
	due     []lease.Expiry
}

// stage is how far a leadership has come.
type stage struct {
	term                     uint64
	proposed, begun, serving bool
}

// stage returns what a run goes by, read in one step. What other goroutines change meanwhile is for the next run: a
// leadership that has just ended must not look like one whose leases are to be restored, for a host leads a term once.
func (t *leaderTasks) stage() stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return stage{term: t.term, proposed: t.proposed, begun: t.begun, serving: t.serving.Load()}
}

func (t *leaderTasks) init(r *Replica) { t.r = r }

// ready reports whether this host is the shard's leader with all that belongs to it.
func (t *leaderTasks) ready() bool { return t.serving.Load() }

// begin is called when this host leads the shard.
func (t *leaderTasks) begin(term uint64) {
	t.r.endLeases(protocol.Result{Status: protocol.StatusUnavailable,
		Message: "the shard's leader has just been elected again"})
	t.r.Pipeline.Elect(term)
	t.mu.Lock()
	t.term, t.proposed, t.begun, t.again = term, false, false, true
	t.drops.forget()
	t.serving.Store(false)
	t.mu.Unlock()
	t.r.set.Wake()
}

// end is called when this host does not lead the shard any more: its clients are redirected.
func (t *leaderTasks) end() {
	t.mu.Lock()
	t.term, t.proposed, t.begun = 0, false, false
	t.suspects, t.late, t.quotas = nil, nil, nil
	t.drops.forget()
	t.serving.Store(false)
	t.mu.Unlock()
	r := t.r
	result := r.set.Moved(r)
	r.Pipeline.Abandon(result)
	r.redirectWaiters(result)
	r.Inboxes.End(result)
	r.endLeases(result)
}

// recheck asks for another check of what may be dead here.
func (t *leaderTasks) recheck() {
	t.mu.Lock()
	t.again = true
	t.mu.Unlock()
	t.r.set.Wake()
}

// recheckLater is recheck for when another one at once would be in vain.
func (t *leaderTasks) recheckLater() {
	t.mu.Lock()
	t.again = true
	t.mu.Unlock()
}

// suspect names a session that is over at its home.
func (t *leaderTasks) suspect(id shard.SessionID) {
	t.mu.Lock()
	t.suspects = append(t.suspects, id)
	t.mu.Unlock()
	t.r.set.Wake()
}

// run does what is due now.
func (t *leaderTasks) run(now time.Time) {
	r, s := t.r, t.stage()
	watched := r.Hub.Len() > 0 || r.watching.Load() > 0
	r.fresh.check(now, watched || s.term != 0 && r.Machine.Sessions() > 0)
	r.endStaleWatches(now, watched)
	if s.term != 0 && r.set.Meta.CaughtUp() {
		t.step(now, s)
	}
}

// step does what a leader has to do at that stage.
func (t *leaderTasks) step(now time.Time, s stage) {
	r := t.r
	switch {
	case !s.proposed:
		t.propose(s.term)
		return
	case !s.begun:
		return
	case r.Machine.Term() != s.term:
		return // a later leader's command was applied: this host's is over, and end will be called
	case !s.serving:
		now = r.set.Now() // after the command was applied
		t.restoreLeases(s.term, now)
	}
	r.RelyOnGrace()
	t.raiseLevel()
	t.continueWork()
	t.proposeDue(s.term)
	t.checkDigest(now)
	t.expire(now)
	t.timeOut(s.term, now)
	t.reconcile(now)
	t.proposeQuotas()
}

// propose makes the clocks of earlier leaders void.
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
			t.r.set.Wake() // else the next tick is soon enough
		}
	}
	t.r.Pipeline.Lead(term, done)
}

// restoreLeases takes the sessions and the waiters over: every session gets its timeout and the grace of its
// node before it may end, every waiter its full time again.
func (t *leaderTasks) restoreLeases(term uint64, now time.Time) {
	r := t.r
	r.endLeases(protocol.Result{Status: protocol.StatusUnavailable,
		Message: "the shard's leader has just been elected again"})
	r.Leases.Lead(term, now)
	r.RelyOnGrace()
	for at, over := shard.Cursor(0), false; !over; {
		at, over = r.Machine.WalkSessions(at, func(v shard.SessionView) {
			if v.Home {
				r.Leases.Restore(v.ID, v.Node, millis(v.Timeout), now)
			}
		})
	}
	r.Leases.Restored()
	r.restoreTimers(r.Machine.WalkWaiters, now)
	t.mu.Lock()
	still := t.term == term
	if still {
		t.serving.Store(true)
	}
	t.mu.Unlock()
	if !still {
		r.endLeases(r.set.Moved(r))
	}
}

// expire ends the sessions that were silent for too long. A client that was silent over an open
// connection is notified at once that its session is no longer attached, and then of its end.
func (t *leaderTasks) expire(now time.Time) {
	r := t.r
	for {
		var under uint64
		t.due, under = r.Leases.Due(now, expireBatch, t.due[:0])
		if len(t.due) == 0 {
			return
		}
		ids := make([]shard.SessionID, len(t.due))
		for i, x := range t.due {
			ids[i] = x.Session
			if x.Holder != nil {
				r.detachSilent(x.Session, x.Holder)
			}
		}
		if !t.proposeEnd(under, ids) {
			return
		}
	}
}

// proposeEnd proposes the end of sessions that were silent for too long, and again of those that were too much for one
// command. It returns false where the queue of the shard is full.
func (t *leaderTasks) proposeEnd(under uint64, ids []shard.SessionID) bool {
	r := t.r
	done := func(e *shard.Effect, failed protocol.Status) {
		switch {
		case e != nil && e.Status == protocol.StatusSuccess:
			var rest []shard.SessionID
			for _, id := range ids {
				if e.Flags&shard.FlagMore != 0 && r.Machine.Liveness(id) == shard.Alive {
					rest = append(rest, id)
				} else if lost := r.Leases.Remove(id); lost != nil { // it was over before
					lost.Reported(1)
				}
			}
			if len(rest) > 0 {
				t.proposeEnd(under, rest)
			}
		case failed == protocol.StatusOverloaded:
			r.Leases.Dropped(under, ids, r.set.Now())
		default:
			r.Leases.Undecided(under, ids, r.set.Now())
		}
	}
	return r.propose(&shard.Command{Kind: shard.CmdSessionsExpire, Term: under, Sessions: ids}, nil, done)
}

// continueWork proposes the next step of what commands have begun and not come to the end of.
func (t *leaderTasks) continueWork() {
	r := t.r
	if r.Machine.Pending() == 0 || t.continuing.Swap(true) {
		return
	}
	done := func(*shard.Effect, protocol.Status) { t.continuing.Store(false) } // what is left then wakes the loop
	r.propose(&shard.Command{Kind: shard.CmdContinue}, nil, done)
}

// timeOut takes waiters out of queues whose time is up.
func (t *leaderTasks) timeOut(term uint64, now time.Time) {
	r := t.r
	t.mu.Lock()
	refs := t.late
	t.late = nil
	t.mu.Unlock()
	r.mu.Lock()
	refs = append(refs, r.timers.due(now, timeOutBatch)...)
	r.mu.Unlock()
	for len(refs) > 0 {
		batch := refs[:min(len(refs), timeOutBatch)]
		refs = refs[len(batch):]
		done := func(e *shard.Effect, _ protocol.Status) {
			if e == nil || e.Flags&shard.FlagMore != 0 {
				t.mu.Lock()
				if t.term == term {
					t.late = append(t.late, batch...)
				}
				t.mu.Unlock()
			}
		}
		command := shard.Command{Kind: shard.CmdWaitersTimeOut, Term: term, Waiters: batch}
		if !r.propose(&command, nil, done) {
			t.mu.Lock()
			if t.term == term {
				t.late = append(t.late, refs...)
			}
			t.mu.Unlock()
			return
		}
	}
}

// withdraw takes a waiter out of its queue with those whose time is up.
func (t *leaderTasks) withdraw(ref shard.WaiterRef) {
	t.mu.Lock()
	t.late = append(t.late, ref)
	t.mu.Unlock()
	t.r.set.Wake()
}

// endStaleWatches ends the watches of a replica that has not been able to make sure for so long that its clients
// are better off elsewhere.
func (r *Replica) endStaleWatches(now time.Time, watched bool) {
	window, _ := r.set.timing.window()
	if watched && r.fresh.age(now) > window+staleAfter {
		r.Hub.End(protocol.Result{Status: protocol.StatusUnavailable,
			Message: "this host cannot make sure that it is up to date"})
		r.forgetWatches()
	}
}
