package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Liveness implements shard.Directory with this host's copies of all shards. They may lag, which makes
// them say that they do not know, never that somebody who lives is dead.
func (h *Host) Liveness(id shard.SessionID) shard.Liveness {
	return h.replicaOf(id.Slot()).machine.Liveness(id)
}

// reconcile releases what dead sessions of other shards, and dropped nodes, have left here. It asks about
// those that it was told of, about all on first sight of somebody new, and about all now and then.
func (d *duty) reconcile(now time.Time) {
	r := d.r
	d.mu.Lock()
	suspects := d.suspects
	d.suspects = nil
	again := d.again || now.Sub(d.swept) > sweepEvery
	d.again = false
	d.mu.Unlock()
	var dead []shard.SessionID
	for _, id := range suspects {
		if v, known := r.machine.Session(id); known && !v.Home && r.host.Liveness(id) == shard.Dead {
			dead = append(dead, id)
		}
	}
	d.forget(dead)
	if !again {
		return
	}
	d.swept = now
	for at, over := shard.Cursor(0), false; !over; {
		dead, at, over = r.machine.DeadGuests(at, r.host, nil)
		d.forget(dead)
	}
	d.dropNodes()
}

// forget proposes the release of what dead sessions have here.
func (d *duty) forget(dead []shard.SessionID) {
	for len(dead) > 0 {
		batch := dead[:min(len(dead), expireBatch)]
		dead = dead[len(batch):]
		done := func(e *shard.Effect, _ protocol.Status) {
			if e == nil {
				d.lookLater()
			}
		}
		if !d.r.pipeline.add(op{done: done}, &shard.Command{Kind: shard.CmdSessionsForget, Sessions: batch}) {
			done(nil, protocol.StatusOverloaded)
			return
		}
		d.r.pipeline.flush()
	}
}

// dropNodes removes a step of every dropped node that something is left of here, and reports those that
// nothing is left of.
func (d *duty) dropNodes() {
	r, m := d.r, d.r.host.meta
	here := make(map[shard.NodeID]bool)
	for _, id := range r.machine.Nodes() {
		here[id] = true
		if m.machine.NodeAlive(id) != nodeDead {
			continue
		}
		done := func(e *shard.Effect, _ protocol.Status) {
			if e == nil {
				d.lookLater()
				return
			}
			d.look()
		}
		command := shard.Command{Kind: shard.CmdNodeDrop, Node: id, Count: dropStep}
		if !r.pipeline.add(op{done: done}, &command) {
			d.lookLater()
			return
		}
		r.pipeline.flush()
	}
	for after, more := shard.NodeID(0), true; more; {
		var page []meta.Dropped
		page, more = m.machine.Dropping(after, shard.MaxPage)
		for i := range page {
			after = page[i].ID
			if !here[after] && page[i].Waits(meta.ShardID(r.id)) {
				m.say(meta.Command{Kind: meta.CmdNodeCleared, Node: after, Shard: meta.ShardID(r.id)})
			}
		}
	}
}
