package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/shard"
)

// The cluster's feature level is stored in the meta shard. Its leader raises the level when every host in the cluster
// has reported that it supports the next one. Every data shard's leader then raises the shard's level with a command,
// so the level rises at the same log position on every replica. A host proposes nothing above a shard's level.

// Level is a host's knowledge about feature levels.
type Level struct {
	// Cluster is the cluster's level, Newest the highest level the host supports.
	Cluster, Newest level.Level
	// Next is the highest level that any host supports: the cluster could rise to Next if the hosts in HeldBy
	// supported it. Without such hosts, Next is Cluster.
	Next   level.Level
	HeldBy []LevelHolder
}

// LevelHolder is a host that keeps the level from rising.
type LevelHolder struct {
	ID   shard.HostID
	Name string // empty: the host has not registered since the cluster's bootstrap
	// Level is the highest level the host supports; 0 if not reported.
	Level level.Level
}

// String returns the cluster's level, and why it is not higher.
func (l Level) String() string {
	text := fmt.Sprintf("level %d", l.Cluster)
	if len(l.HeldBy) == 0 {
		return text
	}
	return text + "; " + l.Holders()
}

// Holders returns the hosts that keep the level from rising, or "" if no host does.
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

// String names the host and the level it supports.
func (h LevelHolder) String() string {
	switch {
	case h.Name == "":
		return fmt.Sprintf("host %d, which has not registered", h.ID)
	case h.Level == 0:
		return fmt.Sprintf("host %s, which has not reported its feature level", h.Name)
	}
	return fmt.Sprintf("host %s, which supports levels up to %d", h.Name, h.Level)
}

// DataLevel returns the highest feature level in the host's data: the meta shard's, or a data shard's if the host has
// no meta shard replica.
func (h *Host) DataLevel() level.Level {
	highest := h.meta.Machine.Level()
	for _, r := range h.set.All() {
		highest = max(highest, r.Machine.Level())
	}
	return highest
}

// Level returns the cluster's feature level, and the hosts that keep the level from rising.
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
		if !known[id] && !h.meta.Machine.Bootstrapped() {
			l.HeldBy = append(l.HeldBy, LevelHolder{ID: id})
		}
	}
	return l
}

// aboveLevel returns the answer to a request that needs a higher level than the cluster, or a shard, has reached.
// Three cases are temporary. A host that has not caught up since its start does not know the cluster's level. A shard
// follows the cluster after a short time. A newly bootstrapped cluster rises as soon as its hosts have registered.
func (h *Host) aboveLevel(needs level.Level) *protocol.Result {
	switch {
	case !h.meta.CaughtUp():
		return &handle.MetaAway
	case needs <= h.meta.Machine.Level():
		return &protocol.Result{Status: protocol.StatusUnavailable, WaitMillis: 20,
			Message: fmt.Sprintf("the shard has not reached feature level %d yet", needs)}
	}
	l := h.Level()
	result := &protocol.Result{Status: protocol.StatusUnsupported, Message: fmt.Sprintf(
		"the request needs feature level %d, but the cluster is at %v", needs, l)}
	held := slices.ContainsFunc(l.HeldBy, func(x LevelHolder) bool { return x.Name != "" })
	if needs <= l.Newest && !held { // the level is supported here, and no registered host is known to lag
		result.Status, result.WaitMillis = protocol.StatusUnavailable, 50
	}
	return result
}
