package replica

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// A dropped node is removed from every data shard by the shard's leader, step by step. Ten thousand nodes may be
// dropped at once. Only a few steps are in progress at a time, so that clients need not wait, and no step is proposed
// twice.

const (
	// dropsAtOnce is the number of dropped nodes for which a leader has a removal step in progress.
	dropsAtOnce = 4
	// clearedStep is the maximum number of nodes a leader reports as cleared together. clearedEvery is how long the
	// leader waits for the meta shard's response before it reports the remaining nodes again.
	clearedStep  = 500
	clearedEvery = time.Second
)

// drops are the dropped nodes whose content a leader removes. The leader tasks' lock guards them, except the fields
// used on the loop.
type drops struct {
	nodes    []shard.NodeID            // nodes with remaining content in the shard
	underWay map[shard.NodeID]struct{} // nodes with a proposed step

	looked   bool      // the shard had nothing to report as cleared, and nothing has appeared since
	reported time.Time // when cleared nodes were last reported; used on the loop only
}

// forget is called when a leadership begins, and when it ends.
func (d *drops) forget() { d.nodes, d.underWay, d.looked = nil, nil, false }

// findDropped looks for dropped nodes with remaining content in this shard.
func (t *leaderTasks) findDropped() {
	m := t.r.set.Meta.Machine
	var dropped []shard.NodeID
	for _, id := range t.r.Machine.Nodes() {
		if m.NodeAlive(id) == meta.NodeIsDead {
			dropped = append(dropped, id)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d := &t.drops
	d.nodes, d.looked = d.nodes[:0], false
	for _, id := range dropped {
		if _, is := d.underWay[id]; !is {
			d.nodes = append(d.nodes, id)
		}
	}
}

// dropNodes proposes the next steps.
func (t *leaderTasks) dropNodes() {
	for {
		id, term := t.nextDrop()
		if id == 0 {
			return
		}
		done := func(e *shard.Effect, _ protocol.Status) { t.dropped(id, term, e) }
		if !t.r.propose(&shard.Command{Kind: shard.CmdNodeDrop, Node: id, Count: dropStep}, nil, done) {
			return
		}
	}
}

// nextDrop takes the next node for a step; 0 if no step may be proposed.
func (t *leaderTasks) nextDrop() (id shard.NodeID, term uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := &t.drops
	if len(d.nodes) == 0 || len(d.underWay) >= dropsAtOnce || t.term == 0 {
		return 0, 0
	}
	id, d.nodes = d.nodes[0], d.nodes[1:]
	if d.underWay == nil {
		d.underWay = make(map[shard.NodeID]struct{}, dropsAtOnce)
	}
	d.underWay[id] = struct{}{}
	return id, t.term
}

// dropped is called with a step's outcome. A lost step is proposed again at the next tick.
func (t *leaderTasks) dropped(id shard.NodeID, term uint64, e *shard.Effect) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term != term {
		return
	}
	delete(t.drops.underWay, id)
	if e == nil || e.Flags&shard.FlagMore != 0 {
		t.drops.nodes = append(t.drops.nodes, id)
	}
	t.drops.looked = false
	if e != nil {
		t.r.set.Wake()
	}
}

// reportCleared reports dropped nodes without remaining content to the meta shard, one batch at a time, until the
// meta shard knows about all of them.
func (t *leaderTasks) reportCleared(now time.Time) {
	d := &t.drops
	if now.Sub(d.reported) < clearedEvery {
		return
	}
	t.mu.Lock()
	looked := d.looked
	d.looked = true // unless something appears meanwhile
	t.mu.Unlock()
	if looked {
		return
	}
	cleared := t.cleared(clearedStep)
	if len(cleared) == 0 {
		return
	}
	d.reported = now
	t.mu.Lock()
	d.looked = false // the leader asks the meta shard again for the nodes this shard must clear
	t.mu.Unlock()
	t.r.set.Meta.request(cleared...)
}

// cleared returns the reports for cleared nodes, up to max.
func (t *leaderTasks) cleared(max int) (commands []meta.Command) {
	r, m := t.r, t.r.set.Meta.Machine
	var here map[shard.NodeID]struct{}
	for after, more := shard.NodeID(0), true; more && len(commands) < max; {
		var page []meta.Dropped
		page, more = m.Dropping(after, shard.MaxPage)
		for i := range page {
			after = page[i].ID
			if len(commands) == max || !page[i].Waits(meta.ShardID(r.ID)) {
				continue
			}
			if here == nil {
				here = make(map[shard.NodeID]struct{})
				for _, id := range r.Machine.Nodes() {
					here[id] = struct{}{}
				}
			}
			if _, is := here[after]; !is {
				commands = append(commands, meta.Command{Kind: meta.CmdNodeCleared, Node: after,
					Shard: meta.ShardID(r.ID)})
			}
		}
	}
	return commands
}
