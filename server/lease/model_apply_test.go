package lease_test

import (
	"maps"
	"slices"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// applyTo applies the log up to an index, in order, each entry once.
func (mr *modelReplica) applyTo(index int) {
	mr.wanted = max(mr.wanted, index)
	for mr.applied < mr.wanted && !mr.reporting {
		e := mr.shard.log[mr.applied]
		mr.applied++
		before := mr.replica.term
		mr.replica.apply(&e, mr.bug)
		if e.kind < modelSeal {
			mr.reportApplied(&e, before)
			continue
		}
		// Between the machine and the table, the goroutine may be stopped.
		changes := mr.replica.changes
		if mr.reporting = mr.chance(20); !mr.reporting {
			mr.reportSlot(&e, changes)
			continue
		}
		mr.after(mr.upTo(6*second), func() {
			mr.run(func() {
				mr.reportSlot(&e, changes)
				mr.reporting = false
				mr.applyTo(0)
			})
		})
	}
}

// reportSlot reports an applied change of the shard's slots to the table.
func (mr *modelReplica) reportSlot(e *modelEntry, changes uint64) {
	now := mr.local()
	if mr.IntN(100) == 0 { // it stalls between reading the clock and using the time
		mr.pause()
	}
	switch {
	case e.kind != modelSeal && mr.bug == bugArrivedWithoutGrace:
		mr.table.SlotArrived(e.slot, changes, now.Add(-mr.grace(nodeOne)))
	case e.kind != modelSeal:
		mr.table.SlotArrived(e.slot, changes, now)
	case mr.bug == bugKeptAfterSeal:
		mr.table.SlotsChanged(changes)
		return
	default:
		lost := mr.table.SlotLeft(e.slot, changes)
		mr.tally["sessions lost with a slot"] += len(lost)
		mr.reportLost(lost)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(mr.replica.sessions)) {
		if id.Slot() == e.slot {
			mr.table.Restore(id, nodeOne, mr.replica.sessions[id], now)
		}
	}
}

// reportApplied reports an applied entry to the table.
func (mr *modelReplica) reportApplied(e *modelEntry, before uint64) {
	switch e.kind {
	case shard.CmdLead:
		mr.applyLead(e, before)
	case shard.CmdSessionsExpire:
		for _, id := range e.ids {
			if _, alive := mr.replica.sessions[id]; !alive {
				if lost := mr.table.Remove(id); lost != nil {
					mr.report(lost, modelEnded, id)
				}
			}
		}
	case shard.CmdSessionCreate:
		if e.by != mr || e.applied == nil {
			mr.table.Restore(e.id, nodeOne, e.timeout, mr.local())
		}
	case shard.CmdSessionUpdate:
		mr.table.SetTimeout(e.id, e.timeout, mr.local())
	}
	if e.by == mr && e.applied != nil {
		e.applied(e)
	}
}

func (mr *modelReplica) applyLead(e *modelEntry, before uint64) {
	if mr.bug != bugNotSeen {
		mr.table.Seen(e.term)
	}
	switch {
	case e.term <= before:
	case e.by == mr && e.term == mr.elected && mr.bug == bugLeadBeforeCommit:
	case e.by == mr && e.term == mr.elected:
		mr.lead(e.term)
	default:
		// The rest of the host learns of it later.
		term := mr.led
		mr.after(mr.upTo(second), func() {
			mr.run(func() {
				if mr.led == term {
					mr.unlead()
				}
			})
		})
	}
}

// modelMessage is a message between a client and a host.
type modelMessage struct {
	kind    modelKind
	shard   int
	session shard.SessionID
	seq     uint64
	change  bool
	lease   modelLease
}

// modelLease is a client's note about a request, returned with its answer.
type modelLease struct {
	sent    int64 // by the client's clock
	epoch   int   // of the client's attachment at send time
	timeout int64
}

type modelKind int

const (
	modelPing modelKind = iota
	modelAttach
	modelStart
	modelPong
	modelAttached
	modelStarted
	modelDetached
	modelEnded
	modelLater
	modelElsewhere
)

// report reports a loss to the client; the message reaches the connection's queue after a delay.
func (mr *modelReplica) report(to *lease.Holder, kind modelKind, id shard.SessionID) {
	for _, c := range mr.clients {
		for _, l := range c.links {
			if l.holder != to {
				continue
			}
			if mr.bug == bugReportedTooSoon {
				to.Reported(1)
			}
			mr.after(mr.upTo(300*1e6), func() {
				mr.run(func() {
					l.toClient(modelMessage{kind: kind, session: id})
					if mr.bug != bugReportedTooSoon {
						to.Reported(1)
					}
				})
			})
			return
		}
	}
}

func (mr *modelReplica) attach(l *modelLink, m modelMessage, now time.Time, barriers int) {
	lost, v := mr.table.Attach(m.session, l.holder, m.seq, now)
	if lost != nil {
		mr.tally["taken"]++
		mr.report(lost, modelDetached, m.session)
	}
	answer := m
	switch v {
	case lease.Attached:
		mr.tally["attached"]++
		answer.kind = modelAttached
	case lease.NotFresh:
		if barriers > 0 {
			mr.barrier(func() { mr.attach(l, m, mr.local(), barriers-1) })
			return
		}
		answer.kind = modelLater
	case lease.Unknown:
		// A session unknown to this replica may still begin, or its slot may be about to be reported to the table.
		_, known := mr.replica.sessions[m.session]
		switch answer.kind = modelLater; {
		case known:
		case !mr.replica.owns(m.session.Slot()):
			answer.kind = modelElsewhere
		case m.session.Counter() <= mr.replica.last:
			answer.kind = modelEnded
			if mr.exists(m.session) {
				mr.violate("%v lives, but its client is told that it is over", m.session)
			}
		}
	default:
		answer.kind = modelLater
	}
	l.toClient(answer)
}

func (mr *modelReplica) handle(l *modelLink, m modelMessage, now time.Time) {
	switch m.kind {
	case modelAttach:
		if !m.change {
			attach := func() { mr.attach(l, m, now, 1) }
			if mr.chance(90) {
				attach()
			} else { // by another, slow goroutine
				mr.after(mr.upTo(2*second), func() { mr.run(attach) })
			}
			return
		}
		e := modelEntry{kind: shard.CmdSessionUpdate, id: m.session, timeout: m.timeout()}
		e.applied = func(*modelEntry) { mr.attach(l, m, mr.local(), 1) }
		mr.propose(e, func(bool) {
			m.kind = modelLater
			l.toClient(m)
		})
	case modelStart:
		e := modelEntry{kind: shard.CmdSessionCreate, timeout: m.timeout()}
		e.applied = func(e *modelEntry) {
			if v := mr.table.Start(e.id, nodeOne, e.timeout, l.holder, m.seq, mr.local()); v == lease.Attached {
				answer := m
				answer.kind, answer.session = modelStarted, e.id
				mr.tally["started"]++
				l.toClient(answer)
			}
		}
		mr.propose(e, func(bool) {})
	}
}
