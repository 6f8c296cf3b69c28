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
	table       *lease.Table
	replica     modelMachine
	applied     int
	elected     uint64        // term that it believes to lead
	led         uint64        // term of its table
	pausedUntil time.Duration // stalled until then
	cutUntil    time.Duration // disconnected from the log until then
	known       int           // newest config version in use
	knownBase   int           // known confirmed version
	confirmed   int           // version reported as in use
}

func newModelHost(w *world) *modelHost {
	h := &modelHost{world: w, clock: w.newClock(), replica: newModelMachine()}
	stallAfter := 3 * second
	if w.chance(70) {
		stallAfter = time.Hour // nothing may depend on noticing a stall
	}
	var err error
	if h.table, err = lease.NewTable(lease.Config{Grace: h.grace, StallAfter: stallAfter}); err != nil {
		panic(err)
	}
	h.goByGrace(0, 0)
	w.every(100*time.Millisecond, func() { h.run(h.askDue) })
	w.every(200*time.Millisecond, func() { h.run(func() { h.barrier(func() {}) }) })
	return h
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
	switch h.bug {
	case bugNoFreshness:
		h.table.Rely(time.Hour)
	case bugNewestGrace:
		h.table.Rely(h.graces[version])
	default:
		h.table.Rely(slices.Min(h.graces[confirmed : version+1]))
	}
	h.confirmed = version
}

func (h *modelHost) wasElected(term uint64) {
	if term < h.elected || term < h.world.term {
		return
	}
	h.elected = term
	if h.bug == bugLeadBeforeCommit && term > h.led {
		h.lead(term)
	}
	h.proposeLead(term)
}

func (h *modelHost) proposeLead(term uint64) {
	h.propose(modelEntry{kind: shard.CmdLead, term: term}, func(bool) {
		h.after(second, func() { h.run(func() { h.wasElected(term) }) })
	})
}

// propose proposes an entry to the log. lost is called if it was dropped, or if its outcome stays unknown for a while.
func (h *modelHost) propose(e modelEntry, lost func(unknown bool)) {
	e.by = h
	report := func(after time.Duration, unknown bool) {
		h.after(after, func() { h.run(func() { lost(unknown) }) })
	}
	switch {
	case h.now < h.cutUntil || h.chance(10): // takes long, or forever
		report(second, true)
		if h.chance(50) {
			h.after(max(h.cutUntil-h.now, h.upTo(4*second))+h.delay(), func() {
				if h.leader == h || h.chance(50) {
					h.append(e)
				}
			})
		}
	default:
		h.after(h.delay(), func() {
			switch {
			case h.leader == h:
				h.append(e)
			case h.chance(50): // it was forwarded
				h.append(e)
				report(second, true)
			default:
				report(h.delay(), false)
			}
		})
	}
}

// barrier makes a read barrier and calls done on success. The log answers it whichever host leads.
func (h *modelHost) barrier(done func()) {
	r := h.table.Begin(h.local())
	if h.now < h.cutUntil {
		return
	}
	h.after(h.delay(), func() {
		upTo, forwarded := len(h.log), h.leader != h
		h.after(h.delay(), func() {
			h.hear(func() {
				h.applyTo(upTo)
				seen := h.replica.term
				if h.bug == bugAnyBarrierCounts {
					seen = h.led
				}
				counts := h.table.Succeeded(r, seen)
				if forwarded {
					h.tally["forwarded barrier"]++
					if !counts {
						h.tally["forwarded barrier that counts not"]++
					}
				}
				done()
			})
		})
	})
}

func (h *modelHost) lead(term uint64) {
	h.unlead()
	h.led = term
	now := h.local()
	h.table.Lead(term, now)
	h.tally["led"]++
	// The walk over the sessions takes a while.
	restore := func() {
		for _, id := range slices.Sorted(maps.Keys(h.replica.sessions)) {
			at := h.local()
			if h.bug == bugLateRestoreIgnored {
				at = now
			}
			h.table.Restore(id, nodeOne, h.replica.sessions[id], at)
		}
		h.table.Restored()
	}
	if h.chance(50) {
		restore()
		return
	}
	h.after(h.upTo(8*second), func() {
		h.run(func() {
			if h.led == term && h.elected == term && h.replica.term == term {
				restore()
			}
		})
	})
}

func (h *modelHost) unlead() {
	lost := h.table.Unlead()
	for _, l := range lost {
		slices.Sort(l.Sessions)
	}
	slices.SortFunc(lost, func(a, b lease.Lost) int { return cmp.Compare(a.Sessions[0], b.Sessions[0]) })
	for _, l := range lost {
		for _, id := range l.Sessions {
			h.report(l.Holder, modelDetached, id)
		}
	}
	if lost != nil {
		h.tally["deposed"]++
	}
}

func (h *modelHost) askDue() {
	stalls := h.table.Counts().Stalls
	now := h.local()
	if h.IntN(400) == 0 { // it stalls between reading the clock and using the time
		h.pause()
	}
	h.run(func() {
		due, term := h.table.Due(now, 2, nil)
		h.tally["stall"] += int(h.table.Counts().Stalls - stalls)
		if len(due) == 0 {
			return
		}
		if h.bug == bugBelievedTerm {
			term = h.elected
		}
		var ids []shard.SessionID
		for _, e := range due {
			ids = append(ids, e.Session)
			if e.Holder != nil {
				h.report(e.Holder, modelDetached, e.Session)
			}
			if h.world.truth.term == term {
				h.mustNotBelieve(e.Session, "it is due at its leader")
			}
		}
		h.propose(modelEntry{kind: shard.CmdSessionsExpire, term: term, ids: ids}, func(unknown bool) {
			if unknown && h.bug != bugDoubtIgnored {
				h.tally["undecided"]++
				h.table.Undecided(term, ids, h.local())
				return
			}
			h.tally["dropped"]++
			h.table.Dropped(term, ids, h.local())
		})
	})
}
