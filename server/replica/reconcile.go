package replica

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// sweep is a walk over all guests. It goes on for a step in each turn of the loop, so that the loop is never away
// from its other work for long: clients would take that for a host that stands still.
type sweep struct {
	at      shard.Cursor
	running bool
	again   bool // something appeared that the walk may be past
}

// start has the walk begin, after the one that is under way if there is one.
func (s *sweep) start() {
	if s.running {
		s.again = true
		return
	}
	*s = sweep{running: true}
}

// reconcile releases what dead sessions of other shards, and dropped nodes, have left here. It asks about
// those that it was told of, about all on first sight of somebody new, and about all now and then.
func (d *duty) reconcile(now time.Time) {
	r := d.r
	d.mu.Lock()
	suspects := d.suspects
	d.suspects = nil
	again, dropping := d.again || now.Sub(d.swept) > sweepEvery, d.dropping
	d.again, d.dropping = false, false
	d.mu.Unlock()
	var dead []shard.SessionID
	for _, id := range suspects {
		if v, known := r.Machine.Session(id); known && !v.Home && r.set.Liveness(id) == shard.Dead {
			dead = append(dead, id)
		}
	}
	d.forget(dead)
	if again {
		d.swept = now
		d.sweep.start()
		d.checkQuotas()
	}
	if d.sweep.running {
		d.sweepStep()
	}
	if again || dropping {
		d.dropNodes()
	}
}

// sweepStep asks about the next guests of the walk, and has the loop come back at once where there are more.
func (d *duty) sweepStep() {
	s, over := &d.sweep, false
	for page := 0; page < sweepPages && !over; page++ {
		var dead []shard.SessionID
		dead, s.at, over = d.r.Machine.DeadGuests(s.at, d.r.set, nil)
		d.forget(dead)
	}
	if over {
		*s = sweep{running: s.again}
	}
	if s.running {
		d.r.set.Wake()
	}
}

// forget proposes the release of what dead sessions have here.
func (d *duty) forget(dead []shard.SessionID) {
	for len(dead) > 0 {
		batch := dead[:min(len(dead), expireBatch)]
		dead = dead[len(batch):]
		done := func(e *shard.Effect, _ protocol.Status) {
			switch {
			case e == nil:
				d.lookLater()
			case e.Flags&shard.FlagMore != 0:
				d.forget(d.known(batch))
			}
		}
		if !d.r.Pipeline.Add(pipeline.Op{Done: done}, &shard.Command{Kind: shard.CmdSessionsForget, Sessions: batch}) {
			done(nil, protocol.StatusOverloaded)
			return
		}
		d.r.Pipeline.Flush()
	}
}

// known returns those of the sessions that are guests here still.
func (d *duty) known(ids []shard.SessionID) (known []shard.SessionID) {
	for _, id := range ids {
		if _, there := d.r.Machine.Session(id); there {
			known = append(known, id)
		}
	}
	return known
}

// dropMore asks for the next step of what dropNodes does, at once or with the next tick.
func (d *duty) dropMore(now bool) {
	d.mu.Lock()
	d.dropping = true
	d.mu.Unlock()
	if now {
		d.r.set.Wake()
	}
}

// dropNodes removes a step of every dropped node that something is left of here, and reports those that
// nothing is left of.
func (d *duty) dropNodes() {
	r, m := d.r, d.r.set.Meta
	here := make(map[shard.NodeID]bool)
	for _, id := range r.Machine.Nodes() {
		here[id] = true
		if m.Machine.NodeAlive(id) != meta.NodeIsDead {
			continue
		}
		done := func(e *shard.Effect, _ protocol.Status) { d.dropMore(e != nil) }
		command := shard.Command{Kind: shard.CmdNodeDrop, Node: id, Count: dropStep}
		if !r.Pipeline.Add(pipeline.Op{Done: done}, &command) {
			d.dropMore(false)
			return
		}
		r.Pipeline.Flush()
	}
	for after, more := shard.NodeID(0), true; more; {
		var page []meta.Dropped
		page, more = m.Machine.Dropping(after, shard.MaxPage)
		for i := range page {
			after = page[i].ID
			if !here[after] && page[i].Waits(meta.ShardID(r.ID)) {
				m.say(meta.Command{Kind: meta.CmdNodeCleared, Node: after, Shard: meta.ShardID(r.ID)})
			}
		}
	}
}
