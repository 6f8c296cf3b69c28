package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// Options describes the cluster to create.
type Options struct {
	// Dir is an empty or missing directory: the first host's data directory. HostName is the host's name, and Raft
	// its address for remote hosts, empty for none.
	Dir, HostName, Raft string
	// Cluster is the new cluster's name, empty for none. With KeepID, the new cluster has the old cluster's id and
	// name, so that programs which rely on the id accept the new cluster.
	Cluster string
	KeepID  bool
	// Shards is the number of data shards, 0 for the old number.
	Shards int
	// DropRights omits the state's tokens and grants: see meta.Regeneration.
	DropRights bool
	// Version is the program version. By and Why are for the audit log.
	Version, By, Why string
}

// Made is the new cluster.
type Made struct {
	Identity identity.Identity
	// Nodes and Objects are the numbers of nodes and objects. Left counts objects that are not taken over: ephemeral
	// objects, objects with a deletion in progress, and objects without a node.
	Nodes, Objects, Left int
	// Age is the age of the states.
	Age time.Duration
}

// unknownAddress is recorded for the first host until its first start.
const unknownAddress = "unknown"

// Make creates the first host in a new cluster. A directory with an unfinished Make can be used again, but no host
// starts with it.
func Make(ctx context.Context, o Options, from *backup.States) (*Made, error) {
	directory, err := identity.Claim(o.Dir)
	if err != nil {
		return nil, err
	}
	defer directory.Release()
	want := identity.Expected{HostName: o.HostName, ClusterName: o.Cluster, Version: cmp.Or(o.Version, "devel")}
	id, err := directory.Load(want)
	switch {
	case errors.Is(err, identity.ErrNone):
		err = directory.Make(want)
	case err == nil && id.Bootstrapped():
		err = fmt.Errorf("restore: %s belongs to host %s in cluster %s; give an empty directory", o.Dir, id.HostName,
			id.Cluster)
	}
	if err != nil {
		return nil, err
	}
	n := &maker{Options: o, directory: directory, from: from, made: &Made{}}
	if err := n.make(ctx); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	return n.made, nil
}

// maker creates a cluster.
type maker struct {
	Options
	directory *identity.Directory
	from      *backup.States
	made      *Made

	generation identity.Generation
	bootstrap  identity.Bootstrap
	machines   *backup.Machines
}

func (m *maker) make(ctx context.Context) error {
	m.made.Age = max(0, time.Since(m.from.Header.Begun))
	if err := m.regenerate(); err != nil {
		return err
	}
	// An existing log is left over from an unfinished attempt, because the host is in no cluster. The log is created
	// at its final path, because the engine stores its snapshot paths.
	if err := os.RemoveAll(m.directory.LogPath()); err != nil {
		return err
	}
	if err := m.importLog(ctx, m.directory.LogPath()); err != nil {
		return err
	}
	if err := m.directory.Restore(m.bootstrap, m.generation); err != nil {
		return err
	}
	m.made.Identity = m.directory.Identity()
	return nil
}

// regenerate creates the new cluster's machines.
func (m *maker) regenerate() error {
	number, err := m.nextGeneration()
	if err != nil {
		return err
	}
	m.generation = identity.NewGeneration(number)
	id := m.directory.Identity()
	r := meta.Regeneration{
		Draw: m.generation, Shards: m.Shards, Jump: machine.JumpOver(m.made.Age),
		Wall: field.WallMillis(time.Now()), By: m.By, Why: m.Why, DropRights: m.DropRights,
		First: hosts.InitialMember{Name: id.HostName, Incarnation: id.Incarnation, Version: "", Level: level.Newest,
			Addresses: hosts.Addresses{Raft: cmp.Or(m.Raft, unknownAddress), Client: unknownAddress}},
	}
	shards := cmp.Or(m.Shards, len(m.from.Meta.Routing().Shards))
	first := identity.InitialMember{ID: m.from.NextHost(), Name: id.HostName, Incarnation: id.Incarnation, Raft: m.Raft}
	m.bootstrap = identity.NewBootstrap(m.Cluster, shards, []identity.InitialMember{first})
	if m.KeepID {
		h := &m.from.Header
		m.bootstrap.Cluster, m.bootstrap.ClusterName = h.Cluster, cmp.Or(h.ClusterName, identity.ClusterName(h.Cluster))
	}
	r.Cluster = m.bootstrap.Cluster
	if m.machines, err = m.from.Regenerate(r); err != nil {
		return err
	}
	m.made.Nodes, m.made.Objects, m.made.Left = m.machines.Meta.NodeCount(), m.machines.Objects, m.machines.Left
	return nil
}

// nextGeneration returns the new generation's number, above the numbers in the file and in the state.
func (m *maker) nextGeneration() (uint32, error) {
	number := uint64(identity.Generation(m.from.Header.Generation).Number())
	if t, bootstrapped := m.from.Meta.Topology(); bootstrapped {
		number = max(number, t.Records.Generation().Number)
	}
	if number+1 > 1<<32-1 {
		return 0, errors.New("the generation number is exhausted")
	}
	return uint32(number + 1), nil
}

// importLog fills the log directory.
func (m *maker) importLog(ctx context.Context, dir string) error {
	made := m.machines
	t, bootstrapped := made.Meta.Topology()
	if !bootstrapped {
		return errors.New("the new cluster has no host")
	}
	self := m.bootstrap.InitialMembers[0]
	state := func(id hosts.ShardID, machine shard.Saver) raftlog.State {
		return raftlog.State{Replica: t.Records.Shard(id).On(self.ID).ID, Machine: machine}
	}
	states := map[uint64]raftlog.State{uint64(hosts.Meta): state(hosts.Meta, made.Meta)}
	for i, id := range made.Meta.Routing().Shards {
		states[uint64(id)] = state(hosts.ShardID(id), made.Data[i])
	}
	id := m.directory.Identity()
	next := id
	next.Bootstrap = m.bootstrap
	return raftlog.Import(ctx, raftlog.Config{
		Host: self.ID, Incarnation: id.Incarnation, DataDir: filepath.Clean(dir), Deployment: next.Deployment(),
		InitialMembers: map[shard.HostID]hosts.Incarnation{self.ID: id.Incarnation}, Logger: quiet,
	}, states)
}
