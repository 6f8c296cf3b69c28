package replica

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// leaderTasks are the tasks of a host for a shard that it leads. The tasks begin with a command: once the command is
// applied, everything of earlier leaders is applied as well, and the clocks of earlier leaders count no more. All
// tasks run on the host's loop; other goroutines only leave work for the loop under the lock.
type leaderTasks struct {
	r *Replica

	serving atomic.Bool // the sessions are known, and may attach. Set under the lock

	mu        sync.Mutex // guards the fields below
	term      uint64     // 0: this host does not lead
	proposed  bool       // the first command is under way
	begun     bool       // the command was applied; the sessions are to be read
	again     bool       // a session or node appeared that may be dead
	suspects  []shard.SessionID
	ended     []shard.SessionID // as copies of their homes say
	withdrawn []shard.WaiterRef
	quotas    []shard.NodeID       // nodes whose quotas are to be compared
	allowed   allowance            // the latest report of the other hosts
	awaiting  []func(serving bool) // for the sessions to be known, or for the end of the leadership
	drops     drops
	sweptAt   time.Time // when the leader last began to ask about all remote sessions

	raising    atomic.Bool // a rise of the shard's level is under way
	continuing atomic.Bool // a step of the work that commands have left is under way
	dueing     atomic.Bool // a command for an alarm or a beat is under way
	dueMore    atomic.Bool // the last one has left more

	// Used on the host's loop only.
	sweep     sweep
	due       []lease.Expiry
	waitTried time.Time // the last try of beginWait
	dueAt     uint64    // the time of the shard, by the estimate then, at which a command for an alarm was proposed
}

// stage is how far a leadership has come.
type stage struct {
	term                     uint64
	proposed, begun, serving bool
}

// stage returns the state for a run of the tasks, in one read. Changes by other goroutines meanwhile are for the next
// run: a leadership that has just ended must not look like a leadership with leases to restore, for a host leads a
// term once.
func (t *leaderTasks) stage() stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return stage{term: t.term, proposed: t.proposed, begun: t.begun, serving: t.serving.Load()}
}

func (t *leaderTasks) init(r *Replica) { t.r = r }

// ready reports whether this host is the shard's leader, with the sessions restored.
func (t *leaderTasks) ready() bool { return t.serving.Load() }

// begin is called when this host leads the shard.
func (t *leaderTasks) begin(term uint64) {
	t.r.Sessions.endLeases(protocol.Result{Status: protocol.StatusUnavailable,
		Message: "the shard's leader has just been elected again"})
	t.r.Pipeline.Elect(term)
	t.r.Sessions.remoteSessions.forgetLosses()
	t.r.timeouts.begin(term)
	t.mu.Lock()
	t.term, t.proposed, t.begun, t.again = term, false, false, true
	t.drops.forget()
	t.serving.Store(false)
	t.mu.Unlock()
	t.r.set.Wake()
}

// end is called when this host leads the shard no more: its clients are redirected.
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
	r.Sessions.endLeases(result)
}

// recheck asks for another check of all sessions and nodes here that may be dead.
func (t *leaderTasks) recheck() {
	t.recheckLater()
	t.r.set.Wake()
}

// recheckLater is recheck without a wake-up, for when a check at once would be in vain.
func (t *leaderTasks) recheckLater() {
	t.mu.Lock()
	t.again = true
	t.mu.Unlock()
}

// suspect names a session that has just appeared here, and may be dead.
func (t *leaderTasks) suspect(id shard.SessionID) {
	t.mu.Lock()
	t.suspects = append(t.suspects, id)
	t.mu.Unlock()
	t.r.set.Wake()
}

// over names a session that is over: a copy of its home, here or at another host, knows so.
func (t *leaderTasks) over(id shard.SessionID) {
	t.mu.Lock()
	if t.term != 0 {
		t.ended = append(t.ended, id)
	}
	t.mu.Unlock()
	t.r.set.Wake()
}

// run does the tasks that are due now.
func (t *leaderTasks) run(now time.Time) {
	r, s := t.r, t.stage()
	watched := r.Hub.Len() > 0 || r.OneShots.watching.Load() > 0
	// A leader fills its replica once its leases can count the barrier.
	unfilled := !r.Filled() && (s.serving || s.term == 0 && r.Leader().Leader != 0)
	r.fresh.check(now, watched || unfilled || s.term != 0 && r.Machine.Sessions() > 0)
	r.endStaleWatches(now, watched)
	if s.term != 0 && r.set.Meta.CaughtUp() {
		t.step(now, s)
	}
}

// step does the tasks of a leader at the given stage.
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
		now = r.set.Now() // after the command was applied
		t.restoreLeases(s.term, now)
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

// restoreLeases takes the sessions over: every session gets its timeout and the grace of its node before the session
// may end.
func (t *leaderTasks) restoreLeases(term uint64, now time.Time) {
	r := t.r
	r.Sessions.endLeases(protocol.Result{Status: protocol.StatusUnavailable,
		Message: "the shard's leader has just been elected again"})
	r.Leases.Lead(term, now)
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
		r.Sessions.endLeases(r.set.Moved(r))
	}
}

// maxAwaiting is how many clients may wait for a leader that has just been elected. Others are refused, and come again.
const maxAwaiting = 4096

// OnceServing calls done once this host serves as the leader of the shard, which may be at once, or leads no more. It
// returns false, and does not call done, if this host does not lead, or too many wait. A new leader of a million
// sessions serves half a second after its election: who waits here is served then, not after the pause of a client that
// was refused a few times.
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
// its session is detached, and later of the end.
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
				r.Sessions.detachSilent(x.Session, x.Holder)
			}
		}
		if !t.proposeEnd(under, ids) {
			return
		}
	}
}

// proposeEnd proposes the end of sessions that were silent for too long, and then of the rest if the sessions were
// too many for one command. It returns false if the queue of the shard is full.
func (t *leaderTasks) proposeEnd(under uint64, ids []shard.SessionID) bool {
	r := t.r
	done := func(e *shard.Effect, failed protocol.Status) {
		switch {
		case e != nil && e.Status == protocol.StatusSuccess:
			var rest []shard.SessionID
			for _, id := range ids {
				if e.Flags&shard.FlagMore != 0 && r.Machine.Liveness(id) == shard.Alive {
					rest = append(rest, id)
				} else if lost := r.Leases.Remove(id); lost != nil { // the session was over before
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

// continueWork proposes the next step of commands that have begun and not ended their work.
func (t *leaderTasks) continueWork() {
	r := t.r
	if r.Machine.Pending() == 0 || t.continuing.Swap(true) {
		return
	}
	done := func(*shard.Effect, protocol.Status) { t.continuing.Store(false) } // any work left then wakes the loop
	r.propose(&shard.Command{Kind: shard.CmdContinue}, nil, done)
}

// proposeWithdrawals removes waiters from their queues whose clients have lost the right to wait.
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

// endStaleWatches ends the watches of a replica that could not make sure for a long time that it is up to date: its
// clients are better off at another host.
func (r *Replica) endStaleWatches(now time.Time, watched bool) {
	window, _ := r.set.timing.window()
	if watched && r.fresh.age(now) > window+staleAfter {
		r.Hub.End(protocol.Result{Status: protocol.StatusUnavailable,
			Message: "this host cannot make sure that it is up to date"})
		r.OneShots.forget()
	}
}
