package replica

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Node quotas are stored in the meta shard, shard quotas are host settings. A data shard uses the quotas in its own
// log: every shard's leader compares its machine's quotas with the wanted quotas, and proposes the differences. It
// does so when it begins to lead, when a node changes, when the shard's level rises, and periodically. A lost command
// leaves a difference, and is proposed again.

// quotaStep is the maximum number of quota changes proposed per pass.
const quotaStep = 500

// quotas maps nodes to their own quotas, as far as the host's meta shard replica knows.
type quotas struct {
	mu    sync.Mutex
	nodes map[shard.NodeID]shard.Limits
}

// set records a node's quotas, and returns whether the node has any.
func (q *quotas) set(n *meta.Node) bool {
	limits := shard.Limits{Objects: n.Config.QuotaObjects, Bytes: n.Config.QuotaBytes}
	if limits == (shard.Limits{}) {
		return false // a quota that was set is never unset
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nodes[n.ID] = limits
	return true
}

// forget removes a dropped node.
func (q *quotas) forget(id shard.NodeID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.nodes, id)
}

// of returns a node's quotas.
func (q *quotas) of(id shard.NodeID) shard.Limits {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.nodes[id]
}

// differing returns the nodes whose quotas differ from the list.
func (q *quotas) differing(have []shard.NodeLimits) (list []shard.NodeID) {
	has := make(map[shard.NodeID]shard.Limits, len(have))
	for _, n := range have {
		has[n.Node] = n.Limits
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, limits := range q.nodes {
		if has[id] != limits {
			list = append(list, id)
		}
	}
	return list
}

// reload reads all nodes' quotas, after the meta shard replica was replaced.
func (q *quotas) reload(m *meta.Machine) {
	q.mu.Lock()
	clear(q.nodes)
	q.mu.Unlock()
	for after, more := "", true; more; {
		var page []meta.Node
		page, more = m.Nodes("", after, shard.MaxPage)
		for i := range page {
			q.set(&page[i])
			after = page[i].Path
		}
	}
}

// quotaChanged makes the leaders on the host propose a node's quotas to their shards.
func (s *Set) quotaChanged(n *meta.Node) {
	if !s.quotas.set(n) {
		return
	}
	for _, r := range s.All() {
		r.leader.checkQuota(n.ID)
	}
}

// Quotas returns the quotas for the data shards the host leads. Zeros mean the defaults, even if the config contains
// the default values.
func (s *Set) Quotas() shard.Limits {
	l := s.config.Quotas
	if s.config.ShardShare != nil {
		l.Bytes = s.config.ShardShare(len(s.All()))
	}
	if l.Objects == shard.DefaultShardObjects {
		l.Objects = 0
	}
	if l.Bytes == shard.DefaultShardBytes {
		l.Bytes = 0
	}
	return l
}

// allowance is the memory the other hosts with replicas have for the shard.
type allowance struct {
	bytes uint64 // the smallest value, 0 for no limit
	all   bool   // all hosts have reported
}

// wantedLimits returns a node's quotas in the shard. Node 0 is the shard itself: every host with a replica needs the
// memory, so the smallest byte quota counts. The quota does not rise before all hosts have reported to this leader,
// because an absent host may have the least memory.
func (r *Replica) wantedLimits(id shard.NodeID, others allowance) shard.Limits {
	if id != 0 {
		return r.set.quotas.of(id)
	}
	want := r.set.Quotas()
	bytes := cmp.Or(want.Bytes, shard.DefaultShardBytes)
	if others.bytes != 0 {
		bytes = min(bytes, others.bytes)
	}
	if r.set.config.ShardShare != nil {
		bytes = r.bySlots(bytes)
	}
	if !others.all {
		bytes = min(bytes, r.Machine.Usage(0).ByteLimit)
	}
	if want.Bytes = bytes; bytes == shard.DefaultShardBytes {
		want.Bytes = 0
	}
	return want
}

// slotStep is how many slots change a shard's quota, so that few commands change quotas while slots move.
const slotStep = 64

// bySlots returns a shard's byte quota, given an even share. A shard with more slots than an even share has a quota in
// proportion: after shards were added, the shards with all the content keep their quotas until their slots have
// moved. Even then, the quotas of all shards together are less than twice the sum of the even shares, which is half of
// the heap (memguard.Budget.ShardBytes).
func (r *Replica) bySlots(even uint64) uint64 {
	owned, _ := r.Machine.Slots()
	shards := len(r.set.All())
	if owned.Len() <= shard.Slots/shards+slotStep {
		return even
	}
	n := (owned.Len() + slotStep - 1) / slotStep * slotStep
	return min(even*uint64(shards)*uint64(n)/shard.Slots, max(even, shard.DefaultShardBytes))
}

// Quotas returns the quotas that the host's settings give the shard, as Set.Quotas.
func (r *Replica) Quotas() shard.Limits {
	l := r.set.Quotas()
	if r.set.config.ShardShare != nil {
		l.Bytes = r.bySlots(cmp.Or(l.Bytes, shard.DefaultShardBytes))
	}
	return l
}

// othersAllow returns the current allowance, and marks the shard for a quota comparison after a change.
func (t *leaderTasks) othersAllow() (now allowance) {
	now.bytes, now.all = t.r.end.allowance()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term != 0 && now != t.allowed {
		t.allowed, t.quotas = now, append(t.quotas, 0)
	}
	return now
}

// checkQuota marks a node for a quota comparison. checkQuota does nothing if the host does not lead the shard: a
// leader compares all nodes when it begins.
func (t *leaderTasks) checkQuota(id shard.NodeID) {
	t.mu.Lock()
	leads := t.term != 0
	if leads {
		t.quotas = append(t.quotas, id)
	}
	t.mu.Unlock()
	if leads {
		t.r.set.Wake()
	}
}

// checkQuotas marks all nodes whose quotas differ, and the shard itself.
func (t *leaderTasks) checkQuotas() {
	differing := t.r.set.quotas.differing(t.r.Machine.LimitedNodes(nil))
	t.mu.Lock()
	t.quotas = append(append(t.quotas, 0), differing...)
	t.mu.Unlock()
}

// proposeQuotas proposes the marked nodes' quotas if they differ.
func (t *leaderTasks) proposeQuotas() {
	r, others := t.r, t.othersAllow()
	named, more := t.nextQuotas()
	for i, id := range named {
		want := r.wantedLimits(id, others)
		if id != 0 && want == (shard.Limits{}) || r.Machine.Limits(id) == want {
			continue // the node was dropped, or another leader was first
		}
		command := shard.Command{Kind: shard.CmdNodeLimits, Node: id, Count: want.Objects, Bytes: want.Bytes}
		done := func(e *shard.Effect, _ protocol.Status) {
			if e == nil {
				t.returnQuotas(id)
			}
		}
		if !r.Pipeline.Add(pipeline.Op{Done: done}, &command) {
			t.returnQuotas(named[i:]...) // the queue is full; the next tick tries again
			return
		}
		r.Pipeline.Flush()
	}
	if more {
		r.set.Wake()
	}
}

// nextQuotas takes some of the marked nodes, and returns whether there are more.
func (t *leaderTasks) nextQuotas() (named []shard.NodeID, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(t.quotas), quotaStep)
	named = t.quotas[:n:n]
	if t.quotas = t.quotas[n:]; len(t.quotas) == 0 {
		t.quotas = nil
	}
	return named, t.quotas != nil
}

// returnQuotas marks nodes again whose commands were lost.
func (t *leaderTasks) returnQuotas(ids ...shard.NodeID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term != 0 {
		t.quotas = append(t.quotas, ids...)
	}
}

// Exceeded returns the answer to a command that would exceed a quota.
func (r *Replica) Exceeded(c *shard.Command, q shard.Quota) *protocol.Result {
	node, path := c.Node, "PATH"
	if s, known := r.Machine.Session(c.Session); node == 0 && known { // a change to a session
		node = s.Node
	}
	whole := q == shard.QuotaShardObjects || q == shard.QuotaShardBytes
	if whole {
		node = 0
	} else if n, ok := r.set.Meta.Machine.NodeByID(node); ok {
		path = n.Path
	}
	u := r.Machine.Usage(node)
	used, limit, unit := u.Bytes, u.ByteLimit, "bytes"
	if q == shard.QuotaNodeObjects || q == shard.QuotaShardObjects {
		used, limit, unit = u.Objects, u.ObjectLimit, "objects"
	}
	what := "node " + unit
	todo := fmt.Sprintf("raise quota_%s of the node (signalbox node alter %s --quota-%s)", unit, path, unit)
	if whole {
		what, todo = "shard "+unit, fmt.Sprintf("raise --shard-quota-%s on the hosts", unit)
	}
	return &protocol.Result{
		Status: protocol.StatusQuotaExceeded,
		Message: fmt.Sprintf("%s in shard %d: %s of %s are used; delete objects, or %s",
			what, r.ID, grouped(used), grouped(limit), todo),
		Quota: protocol.Quota{Kind: protocol.QuotaKind(q), Limit: limit, Used: used},
	}
}

// grouped formats a number with commas.
func grouped(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
