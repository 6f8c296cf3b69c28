package server

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// The feature level of the cluster is in the meta shard. Its leader raises it when every host of the cluster has
// reported that it can follow. The leader of each data shard then raises the level of its shard: by a command, so that
// it rises at the same place of the log on every replica. A host proposes nothing above the level of a shard.

// Level is what a host knows of the feature levels.
type Level struct {
	// Cluster is the level of the cluster, Newest the highest that this host can follow.
	Cluster, Newest level.Level
	// Next is the level to which the cluster could rise if the hosts of HeldBy could follow it: the highest that any host
	// can. It is Cluster where nobody holds it.
	Next   level.Level
	HeldBy []LevelHolder
}

// LevelHolder is a host that keeps the level from rising.
type LevelHolder struct {
	ID   shard.HostID
	Name string // empty: it has not registered since the cluster was born
	// Level is the highest that it can follow; 0: it has not said so.
	Level level.Level
}

// String says which level the cluster is at, and why it is not higher.
func (l Level) String() string {
	text := fmt.Sprintf("level %d", l.Cluster)
	if len(l.HeldBy) == 0 {
		return text
	}
	return text + "; " + l.Holders()
}

// Holders says which hosts keep the level from rising, nothing where none does.
func (l Level) Holders() string {
	if len(l.HeldBy) == 0 {
		return ""
	}
	var holders []string
	for _, h := range l.HeldBy {
		holders = append(holders, h.String())
	}
	return fmt.Sprintf("level %d waits for %s", l.Next, strings.Join(holders, ", "))
}

// String names the host and what it can follow.
func (h LevelHolder) String() string {
	switch {
	case h.Name == "":
		return fmt.Sprintf("host %d, which has not registered", h.ID)
	case h.Level == 0:
		return fmt.Sprintf("host %s, which has not said what it can follow", h.Name)
	}
	return fmt.Sprintf("host %s, which can follow up to level %d", h.Name, h.Level)
}

// Level returns the feature level of the cluster, and the hosts that keep it from rising.
func (h *Host) Level() Level {
	l := Level{Cluster: h.meta.machine.Level(), Newest: h.newest()}
	l.Next = l.Cluster
	hosts := h.meta.machine.Hosts()
	known := make(map[shard.HostID]bool)
	for _, x := range hosts {
		known[x.ID] = true
		if x.Current != protocol.HostExpelled {
			l.Next = max(l.Next, x.Level)
		}
	}
	if l.Next == l.Cluster {
		return l
	}
	for _, x := range hosts {
		if x.Current != protocol.HostExpelled && x.Level < l.Next {
			l.HeldBy = append(l.HeldBy, LevelHolder{ID: x.ID, Name: x.Name, Level: x.Level})
		}
	}
	for _, id := range h.config.Hosts {
		if !known[id] {
			l.HeldBy = append(l.HeldBy, LevelHolder{ID: id})
		}
	}
	return l
}

// newest is the highest level that this host can follow.
func (h *Host) newest() level.Level {
	if h.config.Level != 0 {
		return h.config.Level
	}
	return level.Newest
}

// mayRaise tells whether every host of the cluster can follow a higher level than there is.
func (m *metaReplica) mayRaise() bool {
	for _, id := range m.host.config.Hosts {
		if _, known := m.machine.Host(id); !known {
			return false
		}
	}
	lowest, _ := m.machine.LevelHolders()
	return lowest > m.machine.Level()
}

// raiseLevel raises the level of the cluster where every host of it can follow.
func (m *metaReplica) raiseLevel() {
	if m.leads() && m.mayRaise() {
		lowest, _ := m.machine.LevelHolders()
		m.say(meta.Command{Kind: meta.CmdClusterLevel, Raise: min(lowest, level.Newest)})
	}
}

// raiseLevel raises the level of the shard to that of the cluster.
func (d *duty) raiseLevel() {
	r := d.r
	to := r.host.meta.machine.Level()
	if to <= r.currentLevel() || d.raising.Swap(true) {
		return
	}
	done := func(*shard.Effect, protocol.Status) { d.raising.Store(false) }
	if !r.pipeline.Add(pipeline.Op{Done: done}, &shard.Command{Kind: shard.CmdLevel, Count: uint64(to)}) {
		done(nil, protocol.StatusOverloaded)
		return
	}
	r.pipeline.Flush()
}

// currentLevel is the level of the shard, as far as this replica has applied its log.
func (r *replica) currentLevel() level.Level { return r.pipeline.Level() }

// noteLevel has the pipeline know the level of the machine.
func (r *replica) noteLevel() { r.pipeline.SetLevel(r.machine.Level()) }

// aboveLevel is the answer to a request that needs a level which the cluster has not reached.
func (h *Host) aboveLevel(needs level.Level) *protocol.Result {
	return &protocol.Result{Status: protocol.StatusUnsupported, Message: clip(fmt.Sprintf(
		"this needs feature level %d of the cluster, which is at %v", needs, h.Level()))}
}

// halt stops a host that cannot go on with a shard: what its replica does would differ from what the others do.
func (h *Host) halt(err error) error {
	h.log.Error("this host cannot go on", "error", err)
	if h.config.Halt != nil {
		h.config.Halt(err)
	}
	return err
}
