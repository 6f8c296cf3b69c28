package lease_test

import (
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// applyTo applies the log up to an index, in order, each entry once.
func (h *modelHost) applyTo(index int) {
	for ; h.applied < index; h.applied++ {
		e := h.log[h.applied]
		before := h.replica.term
		h.replica.apply(&e)
		switch e.kind {
		case shard.CmdLead:
			h.applyLead(&e, before)
		case shard.CmdSessionsExpire:
			for _, id := range e.ids {
				if _, alive := h.replica.sessions[id]; !alive {
					if lost := h.table.Remove(id); lost != nil {
						h.report(lost, modelEnded, id)
					}
				}
			}
		case shard.CmdSessionCreate:
			if e.by != h || e.applied == nil {
				h.table.Restore(e.id, nodeOne, e.timeout, h.local())
			}
		case shard.CmdSessionUpdate:
			h.table.SetTimeout(e.id, e.timeout, h.local())
		}
		if e.by == h && e.applied != nil {
			e.applied(&e)
		}
	}
}

func (h *modelHost) applyLead(e *modelEntry, before uint64) {
	if h.bug != bugNotSeen {
		h.table.Seen(e.term)
	}
	switch {
	case e.term <= before:
	case e.by == h && e.term == h.elected && h.bug == bugLeadBeforeCommit:
	case e.by == h && e.term == h.elected:
		h.lead(e.term)
	default:
		// The rest of the host learns of it later.
		term := h.led
		h.after(h.upTo(second), func() {
			h.run(func() {
				if h.led == term {
					h.unlead()
				}
			})
		})
	}
}

// modelMessage is a message between a client and a host.
type modelMessage struct {
	kind    modelKind
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
)

// report reports a loss to the client; the message reaches the connection's queue after a delay.
func (h *modelHost) report(to *lease.Holder, kind modelKind, id shard.SessionID) {
	for _, c := range h.clients {
		for _, l := range c.links {
			if l.holder != to {
				continue
			}
			if h.bug == bugReportedTooSoon {
				to.Reported(1)
			}
			h.after(h.upTo(300*1e6), func() {
				h.run(func() {
					l.toClient(modelMessage{kind: kind, session: id})
					if h.bug != bugReportedTooSoon {
						to.Reported(1)
					}
				})
			})
			return
		}
	}
}

func (h *modelHost) attach(l *modelLink, m modelMessage, now time.Time, barriers int) {
	lost, v := h.table.Attach(m.session, l.holder, m.seq, now)
	if lost != nil {
		h.tally["taken"]++
		h.report(lost, modelDetached, m.session)
	}
	answer := m
	switch v {
	case lease.Attached:
		h.tally["attached"]++
		answer.kind = modelAttached
	case lease.NotFresh:
		if barriers > 0 {
			h.barrier(func() { h.attach(l, m, h.local(), barriers-1) })
			return
		}
		answer.kind = modelLater
	case lease.Unknown:
		// A session unknown to this replica may still begin.
		if answer.kind = modelLater; m.session.Counter() <= h.replica.last {
			answer.kind = modelEnded
			if _, alive := h.world.truth.sessions[m.session]; alive {
				h.violate("%v lives, but its client is told that it is over", m.session)
			}
		}
	default:
		answer.kind = modelLater
	}
	l.toClient(answer)
}

func (h *modelHost) handle(l *modelLink, m modelMessage, now time.Time) {
	switch m.kind {
	case modelAttach:
		if !m.change {
			attach := func() { h.attach(l, m, now, 1) }
			if h.chance(90) {
				attach()
			} else { // by another, slow goroutine
				h.after(h.upTo(2*second), func() { h.run(attach) })
			}
			return
		}
		e := modelEntry{kind: shard.CmdSessionUpdate, id: m.session, timeout: m.timeout()}
		e.applied = func(*modelEntry) { h.attach(l, m, h.local(), 1) }
		h.propose(e, func(bool) {
			m.kind = modelLater
			l.toClient(m)
		})
	case modelStart:
		e := modelEntry{kind: shard.CmdSessionCreate, timeout: m.timeout()}
		e.applied = func(e *modelEntry) {
			if v := h.table.Start(e.id, nodeOne, e.timeout, l.holder, m.seq, h.local()); v == lease.Attached {
				answer := m
				answer.kind, answer.session = modelStarted, e.id
				h.tally["started"]++
				l.toClient(answer)
			}
		}
		h.propose(e, func(bool) {})
	}
}
