package replica

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// duty is what a host does for a shard because it leads it. It begins with a command: when that is
// applied, everything of earlier leaders has been, and their clocks count no more. All of it runs on the
// host's loop, but for what other goroutines leave for it under the lock.
type duty struct {
	r *Replica

	serving atomic.Bool // the sessions and timers are known; sessions may attach. Set under the lock

	mu       sync.Mutex // guards what follows
	term     uint64     // 0: this host does not lead
	proposed bool       // the first command is under way
	begun    bool       // it was applied; the sessions are to be read
	again    bool       // something appeared that may be dead
	dropping bool       // more of a dropped node may be left
	suspects []shard.SessionID
	late     []shard.WaiterRef // timed out, but the command was lost
	quotas   []shard.NodeID    // whose quotas are to be compared

	raising    atomic.Bool // a rise of the shard's level is under way
	continuing atomic.Bool // so is a step of what commands have left

	// Used on the host's loop only.
	swept time.Time
	sweep sweep
	due   []lease.Expiry
}

// stage is how far a leadership has come.
type stage struct {
	term                     uint64
	proposed, begun, serving bool
}

// stage returns what a turn goes by, read in one step. What other goroutines change meanwhile is for the
// next turn: a leadership that has just ended must not look like one whose books are to be opened, for
// a host leads a term once.
func (d *duty) stage() stage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return stage{term: d.term, proposed: d.proposed, begun: d.begun, serving: d.serving.Load()}
}

func (d *duty) init(r *Replica) { d.r = r }

// ready tells whether this host is the shard's leader with all that belongs to it.
func (d *duty) ready() bool { return d.serving.Load() }

// begin is told that this host leads the shard now.
func (d *duty) begin(term uint64) {
	d.r.unlead(protocol.Result{Status: protocol.StatusUnavailable, Message: "the shard's leader has just been elected again"})
	d.mu.Lock()
	d.term, d.proposed, d.begun, d.again = term, false, false, true
	d.serving.Store(false)
	d.mu.Unlock()
	d.r.set.Wake()
}

// end is told that this host does not lead the shard any more: whoever relied on that is sent on.
func (d *duty) end() {
	d.mu.Lock()
	d.term, d.proposed, d.begun = 0, false, false
	d.suspects, d.late, d.quotas = nil, nil, nil
	d.serving.Store(false)
	d.mu.Unlock()
	r := d.r
	result := r.set.Moved(r)
	r.Pipeline.Abandon(result)
	r.disown(result)
	r.unlead(result)
}

// look asks for another look at what may be dead here.
func (d *duty) look() {
	d.mu.Lock()
	d.again = true
	d.mu.Unlock()
	d.r.set.Wake()
}

// lookLater is look for when another one at once would be in vain.
func (d *duty) lookLater() {
	d.mu.Lock()
	d.again = true
	d.mu.Unlock()
}

// suspect names a session that is over at its home.
func (d *duty) suspect(id shard.SessionID) {
	d.mu.Lock()
	d.suspects = append(d.suspects, id)
	d.mu.Unlock()
	d.r.set.Wake()
}

// turn does what is due now.
func (d *duty) turn(now time.Time) {
	r, s := d.r, d.stage()
	watched := r.Hub.Len() > 0 || r.watching.Load() > 0
	r.fresh.check(now, watched || s.term != 0 && r.Machine.Sessions() > 0)
	r.vouch(now, watched)
	if s.term != 0 && r.set.Meta.caughtUp.Load() {
		d.act(now, s)
	}
}

// act does what a leader has to do at that stage.
func (d *duty) act(now time.Time, s stage) {
	r := d.r
	switch {
	case !s.proposed:
		d.propose(s.term)
		return
	case !s.begun:
		return
	case r.Machine.Term() != s.term:
		return // a later leader's command was applied: this host's is over, and will hear of it
	case !s.serving:
		now = r.set.Now() // after the command was applied
		d.assume(s.term, now)
	}
	r.RelyOnGrace()
	d.raiseLevel()
	d.goOn()
	d.checkDigest(now)
	d.expire(now)
	d.timeOut(s.term, now)
	d.reconcile(now)
	d.proposeQuotas()
}

// propose makes the clocks of earlier leaders void.
func (d *duty) propose(term uint64) {
	d.mu.Lock()
	d.proposed = true
	d.mu.Unlock()
	done := func(e *shard.Effect, _ protocol.Status) {
		applied := e != nil && e.Status == protocol.StatusSuccess
		d.mu.Lock()
		if d.term == term {
			d.begun, d.proposed = applied, applied
		}
		d.mu.Unlock()
		if applied {
			d.r.set.Wake() // else the next tick is soon enough
		}
	}
	if !d.r.Pipeline.Add(pipeline.Op{Done: done}, &shard.Command{Kind: shard.CmdLead, Term: term}) {
		done(nil, protocol.StatusOverloaded)
		return
	}
	d.r.Pipeline.Flush()
}

// assume takes the sessions and the waiters over: every session gets its timeout and the grace of its
// node before it may end, every waiter its full time again.
func (d *duty) assume(term uint64, now time.Time) {
	r := d.r
	r.unlead(protocol.Result{Status: protocol.StatusUnavailable, Message: "the shard's leader has just been elected again"})
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
	d.mu.Lock()
	still := d.term == term
	if still {
		d.serving.Store(true)
	}
	d.mu.Unlock()
	if !still {
		r.unlead(r.set.Moved(r))
	}
}

// expire ends the sessions that were silent for too long. A client that was silent over an open
// connection is told at once that its session is no longer attached, and then of its end.
func (d *duty) expire(now time.Time) {
	r := d.r
	for {
		var under uint64
		d.due, under = r.Leases.Due(now, expireBatch, d.due[:0])
		if len(d.due) == 0 {
			return
		}
		ids := make([]shard.SessionID, len(d.due))
		for i, x := range d.due {
			ids[i] = x.Session
			if x.Holder != nil {
				r.tellSilent(x.Session, x.Holder)
			}
		}
		if !d.proposeEnd(under, ids) {
			return
		}
	}
}

// proposeEnd proposes the end of sessions that were silent for too long, and again of those that were too much for one
// command. It returns false where the queue of the shard is full.
func (d *duty) proposeEnd(under uint64, ids []shard.SessionID) bool {
	r := d.r
	done := func(e *shard.Effect, failed protocol.Status) {
		switch {
		case e != nil && e.Status == protocol.StatusSuccess:
			var rest []shard.SessionID
			for _, id := range ids {
				if e.Flags&shard.FlagMore != 0 && r.Machine.Liveness(id) == shard.Alive {
					rest = append(rest, id)
				} else if lost := r.Leases.Remove(id); lost != nil { // it was over before
					lost.Told(1)
				}
			}
			if len(rest) > 0 {
				d.proposeEnd(under, rest)
			}
		case failed == protocol.StatusOverloaded:
			r.Leases.Dropped(under, ids, r.set.Now())
		default:
			r.Leases.Undecided(under, ids, r.set.Now())
		}
	}
	command := shard.Command{Kind: shard.CmdSessionsExpire, Term: under, Sessions: ids}
	if !r.Pipeline.Add(pipeline.Op{Done: done}, &command) {
		done(nil, protocol.StatusOverloaded)
		return false
	}
	r.Pipeline.Flush()
	return true
}

// goOn proposes the next step of what commands have begun and not come to the end of.
func (d *duty) goOn() {
	r := d.r
	if r.Machine.Pending() == 0 || d.continuing.Swap(true) {
		return
	}
	done := func(*shard.Effect, protocol.Status) { d.continuing.Store(false) } // what is left then wakes the loop
	if !r.Pipeline.Add(pipeline.Op{Done: done}, &shard.Command{Kind: shard.CmdContinue}) {
		done(nil, protocol.StatusOverloaded)
		return
	}
	r.Pipeline.Flush()
}

// timeOut takes waiters out of queues whose time is up.
func (d *duty) timeOut(term uint64, now time.Time) {
	r := d.r
	d.mu.Lock()
	refs := d.late
	d.late = nil
	d.mu.Unlock()
	r.mu.Lock()
	refs = append(refs, r.timers.due(now, timeOutBatch)...)
	r.mu.Unlock()
	for len(refs) > 0 {
		batch := refs[:min(len(refs), timeOutBatch)]
		refs = refs[len(batch):]
		done := func(e *shard.Effect, _ protocol.Status) {
			if e == nil || e.Flags&shard.FlagMore != 0 {
				d.mu.Lock()
				if d.term == term {
					d.late = append(d.late, batch...)
				}
				d.mu.Unlock()
			}
		}
		if !r.Pipeline.Add(pipeline.Op{Done: done}, &shard.Command{Kind: shard.CmdWaitersTimeOut, Term: term, Waiters: batch}) {
			done(nil, protocol.StatusOverloaded)
			return
		}
		r.Pipeline.Flush()
	}
}

// vouch ends the watches of a replica that has not been able to make sure for so long that its clients
// are better off elsewhere.
func (r *Replica) vouch(now time.Time, watched bool) {
	window, _ := r.set.timing.window()
	if watched && r.fresh.age(now) > window+staleAfter {
		r.Hub.End(protocol.Result{Status: protocol.StatusUnavailable, Message: "this host cannot make sure that it is up to date"})
		r.forgetWatches()
	}
}
