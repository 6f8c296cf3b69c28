package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// The feature level of the cluster is in the meta shard. Its leader raises it when every host of the cluster has
// reported that it can follow. The leader of each data shard then raises the level of its shard: by a command, so that
// it rises at the same place of the log on every replica. A host proposes nothing above the level of a shard.

// Level is what a host knows of the feature levels.
type Level struct {
	// Cluster is the level of the cluster, Newest the highest that this host can follow.
	Cluster, Newest level.Level
	// Next is the level to which the cluster could rise if the hosts of HeldBy could follow it: the highest that any
	// host can. It is Cluster where no host holds it.
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

// DataLevel is the highest feature level of what this host keeps: of the meta shard, or of a data shard where the host
// has no copy of that.
func (h *Host) DataLevel() level.Level {
	highest := h.meta.Machine.Level()
	for _, r := range h.replicas {
		highest = max(highest, r.Machine.Level())
	}
	return highest
}

// Level returns the feature level of the cluster, and the hosts that keep it from rising.
func (h *Host) Level() Level {
	l := Level{Cluster: h.meta.Machine.Level(), Newest: h.config.Level}
	l.Next = l.Cluster
	hosts := h.meta.Machine.Hosts()
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
		if !known[id] && !h.meta.Machine.Founded() {
			l.HeldBy = append(l.HeldBy, LevelHolder{ID: id})
		}
	}
	return l
}

// aboveLevel is the answer to a request that needs a level which the cluster, or a shard, has not reached. A host that
// has not caught up since it started does not know whether the cluster has, a shard follows the cluster within a
// moment, and a cluster that was only just born rises as soon as its hosts have registered.
func (h *Host) aboveLevel(needs level.Level) *protocol.Result {
	switch {
	case !h.meta.CaughtUp():
		return &protocol.Result{Status: protocol.StatusUnavailable, Message: metaAway}
	case needs <= h.meta.Machine.Level():
		return &protocol.Result{Status: protocol.StatusUnavailable, WaitMillis: 20,
			Message: fmt.Sprintf("the shard has not followed the cluster to feature level %d yet", needs)}
	}
	l := h.Level()
	result := &protocol.Result{Status: protocol.StatusUnsupported, Message: clip(fmt.Sprintf(
		"this needs feature level %d of the cluster, which is at %v", needs, l))}
	held := slices.ContainsFunc(l.HeldBy, func(x LevelHolder) bool { return x.Name != "" })
	if needs <= l.Newest && !held { // this host can follow it, and no other is known that cannot
		result.Status, result.WaitMillis = protocol.StatusUnavailable, 50
	}
	return result
}
