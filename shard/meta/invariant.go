package meta

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// Validation of content loaded from a snapshot instead of built by commands.

func (l *loader) checkNode(n *Node) error {
	if len(l.byPath.entries) >= MaxNodes {
		return fmt.Errorf("there are more than %d", MaxNodes)
	}
	return l.checkNodeForm(n)
}

// checkNodeForm checks a node, alive or dropped.
func (l *loader) checkNodeForm(n *Node) error {
	path, err := ParsePath(n.Path)
	switch {
	case err != nil:
		return err
	case path != n.Path:
		return fmt.Errorf("path %s is not in canonical form", quoted(n.Path))
	case n.ID == 0 || n.ID > l.lastNode:
		return fmt.Errorf("id %d was never assigned; the last id is %d", n.ID, l.lastNode)
	case n.Version == 0 || n.Version > l.version:
		return fmt.Errorf("its config version %d cannot be at version %d", n.Version, l.version)
	case n.Timed == 0 || n.Timed > l.version:
		return fmt.Errorf("its timing changed with version %d, and %d is the newest", n.Timed, l.version)
	}
	if err := n.Config.Validate(); err != nil {
		return err
	}
	return n.Timing.check(n.Version, n.Config.Effective())
}

// check returns an error if a timing does not match the version's effective config.
func (t Timing) check(version uint64, effective Config) error {
	grace, period := effective.SessionGracePeriodMillis, effective.SelfCheckPeriodMillis
	switch {
	case t.Since == 0 || t.Since > version:
		return fmt.Errorf("its timing is since config version %d, and %d is the newest", t.Since, version)
	case t.GraceFloorMillis < grace || t.GraceFloorMillis > MaxSessionGracePeriodMillis:
		return fmt.Errorf("its grace floor is %d ms beside a grace period of %d ms", t.GraceFloorMillis, grace)
	case t.GraceCeilingMillis > grace:
		return fmt.Errorf("its grace ceiling is %d ms beside a grace period of %d ms", t.GraceCeilingMillis, grace)
	case t.SelfCheckCeilingMillis < MinSelfCheckPeriodMillis || t.SelfCheckCeilingMillis > period ||
		t.SelfCheckCeilingMillis >= t.GraceCeilingMillis:
		return fmt.Errorf("its self-check ceiling is %d ms "+
			"beside a self-check period of %d ms and a grace ceiling of %d ms",
			t.SelfCheckCeilingMillis, period, t.GraceCeilingMillis)
	}
	return nil
}

func (l *loader) checkHost(h *Host) error {
	if err := h.checkForm(); err != nil {
		return err
	}
	for _, s := range []protocol.HostState{h.Current, h.Target} {
		if s < protocol.HostOnline || s > protocol.HostExpelled {
			return fmt.Errorf("its state %d is unknown", s)
		}
	}
	if h.Changed == 0 || h.Changed > l.version {
		return fmt.Errorf("it changed with version %d, and %d is the newest", h.Changed, l.version)
	}
	if h.Seen >= l.version {
		return fmt.Errorf("seen version %d is not below the current version %d", h.Seen, l.version)
	}
	if len(l.hosts.entries) >= MaxHosts {
		return fmt.Errorf("there are more than %d", MaxHosts)
	}
	if other := l.hostNamed(h.Name); other != nil {
		return fmt.Errorf("host %[2]d has the same name %[1]s", h.Name, other.ID)
	}
	return nil
}

func (l *loader) checkDropped(d *Dropped) error {
	switch {
	case d.ID == 0 || d.ID > l.lastNode:
		return fmt.Errorf("id %d was never assigned; the last id is %d", d.ID, l.lastNode)
	case d.Version == 0 || d.Version > l.version:
		return fmt.Errorf("it was dropped with version %d, and %d is the newest", d.Version, l.version)
	case len(d.Pending) == 0:
		return errors.New("no data shard has to clear it")
	case len(l.dropping.entries) >= MaxDropping:
		return fmt.Errorf("there are more than %d", MaxDropping)
	}
	return checkShards(d.Pending, func(id ShardID) bool {
		_, ok := slices.BinarySearch(l.routing.Shards, id)
		return ok
	})
}

// checkShards returns an error unless all data shards in a list are in order and known.
func checkShards(list []ShardID, known func(ShardID) bool) error {
	last := ShardID(0)
	for _, id := range list {
		if id <= last {
			return fmt.Errorf("data shard %d does not come after %d", id, last)
		}
		if !known(id) {
			return fmt.Errorf("shard %d is not a data shard", id)
		}
		last = id
	}
	return nil
}

// check returns an error if a slot table does not match a content at the version.
func (r *Routing) check(version uint64) error {
	if r.Version == 0 {
		if r.Cluster != "" || len(r.Shards) > 0 {
			return errors.New("a slot table of version 0 is not empty")
		}
		return nil
	}
	if r.Version > version {
		return fmt.Errorf("the slot table's version %d cannot be at version %d", r.Version, version)
	}
	if err := checkWord("the id of the cluster", r.Cluster, 1, MaxClusterID); err != nil {
		return err
	}
	if len(r.Shards) == 0 || len(r.Shards) > MaxDataShards {
		return fmt.Errorf("%d data shards; 1 to %d are allowed", len(r.Shards), MaxDataShards)
	}
	return checkShards(r.Shards, func(ShardID) bool { return true })
}

// complete builds the derived parts, and performs the checks that need the whole content.
func (l *loader) complete() error {
	ids := slices.Clone(l.byPath.entries)
	slices.SortFunc(ids, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(ids); i++ {
		if ids[i].ID == ids[i-1].ID {
			return fmt.Errorf("%s and %s have the same id %d", ids[i-1].Path, ids[i].Path, ids[i].ID)
		}
	}
	l.byID.entries = ids
	l.routing.Ranges = l.slotRanges()
	if err := l.answers.takePlaces(); err != nil {
		return err
	}
	for _, d := range l.dropping.entries {
		if n := l.byID.get(d.ID); n != nil {
			return fmt.Errorf("the node with id %d (%s) exists, but is being cleared", n.ID, n.Path)
		}
	}
	return nil
}
