package lease_test

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// modelHost is a host that follows the rules of DESIGN.md.
type modelHost struct {
	*world
	clock       modelClock
	replicas    []*modelReplica // by shard
	pausedUntil time.Duration   // stalled until then
	cutUntil    time.Duration   // disconnected from the log until then
	known       int             // newest config version in use
	knownBase   int             // known confirmed version
	confirmed   int             // version reported as in use
}

// modelReplica is a host's replica of one shard.
type modelReplica struct {
	*modelHost
	shard     *modelShard
	table     *lease.Table
	replica   modelMachine
	applied   int
	wanted    int    // how much of the log was committed, as far as it knows
	reporting bool   // an applied entry is yet to be reported to the table
	elected   uint64 // term that it believes to lead
	led       uint64 // term of its table
}

func newModelHost(w *world) *modelHost {
	h := &modelHost{world: w, clock: w.newClock()}
	for _, s := range w.shards {
		r := newModelReplica(h, s)
		h.replicas, s.replicas = append(h.replicas, r), append(s.replicas, r)
	}
	return h
}

func newModelReplica(h *modelHost, s *modelShard) *modelReplica {
	r := &modelReplica{modelHost: h, shard: s, replica: newModelMachine(s.initial)}
	stallAfter := 3 * second
	if h.chance(70) {
		stallAfter = time.Hour // nothing may depend on noticing a stall
	}
	var err error
	if r.table, err = lease.NewTable(lease.Config{Grace: h.grace, StallAfter: stallAfter}); err != nil {
		panic(err)
	}
	r.rely(0, 0)
	h.every(100*time.Millisecond, func() { h.run(r.askDue) })
	h.every(200*time.Millisecond, func() { h.run(func() { r.barrier(func() {}) }) })
	return r
}

func (h *modelHost) local() time.Time { return start.Add(h.clock.read(h.now)) }

// run does something as soon as the host does not stand still.
func (h *modelHost) run(do func()) {
	if h.now < h.pausedUntil {
		h.after(h.pausedUntil-h.now+h.upTo(5*time.Millisecond), func() { h.run(do) })
		return
	}
	do()
}

// hear runs do for messages from the log.
func (h *modelHost) hear(do func()) {
	if h.now < h.cutUntil {
		h.after(h.cutUntil-h.now+h.delay(), func() { h.hear(do) })
		return
	}
	h.run(do)
}

func (h *modelHost) pause() { h.pausedUntil = max(h.pausedUntil, h.now+h.upTo(6*second)) }
func (h *modelHost) cut()   { h.cutUntil = max(h.cutUntil, h.now+h.upTo(10*second)) }

func (h *modelHost) grace(shard.NodeID) time.Duration {
	switch h.bug {
	case bugNoGrace:
		return 0
	case bugNewestGrace:
		return h.graces[h.known]
	}
	return slices.Max(h.graces[h.knownBase : h.known+1])
}

func (h *modelHost) learnGrace() {
	version, confirmed := len(h.graces)-1, h.world.confirmed
	goBy := func() { h.run(func() { h.goByGrace(max(h.known, version), max(h.knownBase, confirmed)) }) }
	if h.bug == bugConfirmedTooSoon {
		h.confirmed = version
		h.after(h.upTo(5*second), goBy)
		return
	}
	goBy()
}

func (h *modelHost) goByGrace(version, confirmed int) {
	h.known, h.knownBase = version, confirmed
	for _, r := range h.replicas {
		r.rely(version, confirmed)
	}
	h.confirmed = version
}

func (mr *modelReplica) rely(version, confirmed int) {
	switch mr.bug {
	case bugNoFreshness:
		mr.table.Rely(time.Hour)
	case bugNewestGrace:
		mr.table.Rely(mr.graces[version])
	default:
		mr.table.Rely(slices.Min(mr.graces[confirmed : version+1]))
	}
}

func (mr *modelReplica) wasElected(term uint64) {
	if term < mr.elected || term < mr.shard.term {
		return
	}
	mr.elected = term
	if mr.bug == bugLeadBeforeCommit && term > mr.led {
		mr.lead(term)
	}
	mr.proposeLead(term)
}

func (mr *modelReplica) proposeLead(term uint64) {
	mr.propose(modelEntry{kind: shard.CmdLead, term: term}, func(bool) {
		mr.after(second, func() { mr.run(func() { mr.wasElected(term) }) })
	})
}

// propose proposes an entry to the log. lost is called if it was dropped, or if its outcome stays unknown for a while.
func (mr *modelReplica) propose(e modelEntry, lost func(unknown bool)) {
	e.by = mr
	report := func(after time.Duration, unknown bool) {
		mr.after(after, func() { mr.run(func() { lost(unknown) }) })
	}
	switch {
	case len(mr.shards) > 1 && mr.chance(20): // a slot may leave and return before it is committed
		mr.after(mr.upTo(10*second), func() {
			if mr.shard.leader == mr {
				mr.shard.append(e)
			} else {
				report(mr.delay(), false)
			}
		})
	case mr.now < mr.cutUntil || mr.chance(10): // takes long, or forever
		report(second, true)
		if mr.chance(50) {
			mr.after(max(mr.cutUntil-mr.now, mr.upTo(4*second))+mr.delay(), func() {
				if mr.shard.leader == mr || mr.chance(50) {
					mr.shard.append(e)
				}
			})
		}
	default:
		mr.after(mr.delay(), func() {
			switch {
			case mr.shard.leader == mr:
				mr.shard.append(e)
			case mr.chance(50): // it was forwarded
				mr.shard.append(e)
				report(second, true)
			default:
				report(mr.delay(), false)
			}
		})
	}
}

// barrier makes a read barrier and calls done on success. The log answers it whichever host leads.
func (mr *modelReplica) barrier(done func()) {
	r := mr.table.Begin(mr.local())
	if mr.now < mr.cutUntil {
		return
	}
	mr.after(mr.delay(), func() {
		upTo, forwarded := len(mr.shard.log), mr.shard.leader != mr
		mr.after(mr.delay(), func() {
			mr.hear(func() {
				if mr.applyTo(upTo); mr.applied < upTo {
					return
				}
				seen, changes := mr.replica.term, mr.replica.changes
				switch mr.bug {
				case bugAnyBarrierCounts:
					seen = mr.led
				case bugUnreportedSeal:
					changes = 0
				}
				counts := mr.table.Succeeded(r, seen, changes)
				if forwarded {
					mr.tally["forwarded barrier"]++
					if !counts {
						mr.tally["forwarded barrier that counts not"]++
					}
				}
				done()
			})
		})
	})
}

func (mr *modelReplica) lead(term uint64) {
	mr.unlead()
	mr.led = term
	now := mr.local()
	mr.table.Lead(term, mr.replica.changes, now)
	mr.tally["led"]++
	// The walk over the sessions takes a while.
	restore := func() {
		for _, id := range slices.Sorted(maps.Keys(mr.replica.sessions)) {
			at := mr.local()
			if mr.bug == bugLateRestoreIgnored {
				at = now
			}
			mr.table.Restore(id, nodeOne, mr.replica.sessions[id], at)
		}
		mr.table.Restored()
	}
	if mr.chance(50) {
		restore()
		return
	}
	mr.after(mr.upTo(8*second), func() {
		mr.run(func() {
			if mr.led == term && mr.elected == term && mr.replica.term == term {
				restore()
			}
		})
	})
}

func (mr *modelReplica) unlead() {
	lost := mr.table.Unlead()
	mr.reportLost(lost)
	if lost != nil {
		mr.tally["deposed"]++
	}
}

// reportLost reports losses to the clients, in an order that the seed determines.
func (mr *modelReplica) reportLost(lost []lease.Lost) {
	for _, l := range lost {
		slices.Sort(l.Sessions)
	}
	slices.SortFunc(lost, func(a, b lease.Lost) int { return cmp.Compare(a.Sessions[0], b.Sessions[0]) })
	for _, l := range lost {
		for _, id := range l.Sessions {
			mr.report(l.Holder, modelDetached, id)
		}
	}
}

func (mr *modelReplica) askDue() {
	stalls := mr.table.Counts().Stalls
	now := mr.local()
	if mr.IntN(400) == 0 { // it stalls between reading the clock and using the time
		mr.pause()
	}
	mr.run(func() {
		due, by := mr.table.Due(now, 2, nil)
		mr.tally["stall"] += int(mr.table.Counts().Stalls - stalls)
		if len(due) == 0 {
			return
		}
		if mr.bug == bugBelievedTerm {
			by.Term = mr.elected
		}
		var ids []shard.SessionID
		for _, e := range due {
			ids = append(ids, e.Session)
			if e.Holder != nil {
				mr.report(e.Holder, modelDetached, e.Session)
			}
			if truth := &mr.shard.truth; truth.term == by.Term && truth.changes == by.Changes {
				mr.mustNotBelieve(e.Session, "it is due at its leader")
			}
		}
		e := modelEntry{kind: shard.CmdSessionsExpire, term: by.Term, changes: by.Changes, ids: ids}
		settled := false
		e.applied = func(e *modelEntry) {
			if settled || mr.replica.expires(e, mr.bug) {
				return
			}
			settled = true
			mr.tally["applied without effect"]++
			mr.table.Dropped(mr.outcomeOf(by), ids, mr.local())
		}
		mr.propose(e, func(unknown bool) {
			if settled {
				return
			}
			settled = true
			if unknown && mr.bug != bugDoubtIgnored {
				mr.tally["undecided"]++
				mr.table.Undecided(mr.outcomeOf(by), ids, mr.local())
				return
			}
			mr.tally["dropped"]++
			mr.table.Dropped(mr.outcomeOf(by), ids, mr.local())
		})
	})
}

// outcomeOf returns the basis that an outcome names.
func (mr *modelReplica) outcomeOf(by lease.Basis) lease.Basis {
	if mr.bug == bugEarlierCallback {
		by.Changes = mr.replica.changes
	}
	return by
}
