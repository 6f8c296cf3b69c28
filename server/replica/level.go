package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// mayRaise reports whether every host of the cluster can follow a higher level than the present level.
func (m *Meta) mayRaise() bool {
	lowest, _ := m.Machine.LevelHolders()
	return lowest > m.Machine.Level() && m.allKnown()
}

// raiseLevel raises the level of the cluster if every host can follow.
func (m *Meta) raiseLevel() {
	if m.leads() && m.mayRaise() {
		lowest, _ := m.Machine.LevelHolders()
		m.request(meta.Command{Kind: meta.CmdClusterLevel, Raise: min(lowest, level.Newest)})
	}
}

// raiseLevel raises the level of the shard to the level of the cluster, by one command at a time. A lost command is
// proposed again.
func (t *leaderTasks) raiseLevel() {
	r := t.r
	to := r.set.Meta.Machine.Level()
	if to <= r.Level() || t.raising.Swap(true) {
		return
	}
	done := func(*shard.Effect, protocol.Status) { t.raising.Store(false) }
	r.propose(&shard.Command{Kind: shard.CmdLevel, Count: uint64(to)}, nil, done)
}
