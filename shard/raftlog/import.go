package raftlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/tools"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// State is the initial state for a shard with an imported log.
type State struct {
	// Replica is the only member's id, transport.FirstJoined or above.
	Replica uint64
	// Machine has the state. Import only saves the machine.
	Machine shard.Saver
}

// exportPause is the pause between two attempts to make the engine export a snapshot.
const exportPause = 10 * time.Millisecond

// Import fills the data directory for a host that was never opened: each shard has the host as its only member, and
// begins with a state. After a failure the files that Import has written must not be used.
//
// The engine imports states only as snapshots an engine has exported. So Import runs shards with one member beside the
// directory, with the machines to save as their state machines, and removes the shards at the end.
func Import(ctx context.Context, config Config, states map[uint64]State) (err error) {
	config = config.withDefaults()
	if err := config.Validate(); err != nil {
		return err
	}
	scratch, disk := filepath.Clean(config.DataDir)+".import", config.disk()
	if err := disk.RemoveAll(scratch); err != nil {
		return fmt.Errorf("raftlog: import: %w", err)
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(scratch)) }()
	if err := exportStates(ctx, scratch, config, states); err != nil {
		return fmt.Errorf("raftlog: import: %w", err)
	}
	if err := importStates(scratch, config, states); err != nil {
		return fmt.Errorf("raftlog: import: %w", err)
	}
	return nil
}

// exportDirectory is the directory for a shard's exported snapshot.
func exportDirectory(scratch string, shardID uint64) string {
	return filepath.Join(scratch, fmt.Sprint("shard-", shardID))
}

// exportStates runs the shards on a temporary host, until all snapshots are exported.
func exportStates(ctx context.Context, scratch string, config Config, states map[uint64]State) error {
	host, err := Open(Config{
		Host: 1, Incarnation: hosts.Incarnation{1}, DataDir: filepath.Join(scratch, "engine"), Logger: config.Logger,
		Files: config.Files, Tick: config.Tick, ElectionTicks: config.ElectionTicks,
		Room: config.Room, Relieve: config.Relieve, Damaged: config.Damaged,
	})
	if err != nil {
		return err
	}
	err = host.exportEach(ctx, scratch, states)
	return errors.Join(err, host.Close()) // not deferred: if the engine panics, Close never returns
}

func (h *Host) exportEach(ctx context.Context, scratch string, states map[uint64]State) error {
	for _, shardID := range slices.Sorted(maps.Keys(states)) {
		dir := exportDirectory(scratch, shardID)
		if err := h.config.disk().MkdirAll(dir, 0o750); err != nil {
			return err
		}
		if _, err := h.Start(shardID, exported{states[shardID].Machine}); err != nil {
			return err
		}
		if err := h.export(ctx, shardID, dir, 1); err != nil {
			return err
		}
	}
	return nil
}

// export makes the engine export a snapshot for a shard that has applied an entry, and returns the last applied entry.
// An export needs no leader. The engine refuses while it saves a snapshot on its own, or has only just started. After
// an error the directory stays until the host is closed.
func (h *Host) export(ctx context.Context, shardID uint64, dir string, entry uint64) error {
	option := dragonboat.SnapshotOption{Exported: true, ExportPath: dir}
	if l := h.log(shardID); l != nil {
		l.machine.hurried.Add(1)
		defer l.machine.hurried.Add(-1)
	}
	for {
		if err := h.room(0); err != nil { // no attempt would succeed
			return err
		}
		if h.hasMembers(shardID) {
			attempt, cancel := context.WithTimeout(ctx, snapshotTimeout) // the engine needs a deadline
			index, err := h.engine.SyncRequestSnapshot(attempt, shardID, option)
			cancel()
			switch {
			case err == nil && index >= entry:
				return nil
			case errors.Is(err, dragonboat.ErrCanceled), errors.Is(err, dragonboat.ErrTimeout):
				// The engine has not given up the snapshot, and would end the process if the directory disappeared.
				return fmt.Errorf("export shard %d: %w", shardID, cmp.Or(ctx.Err(), err))
			}
			if err := clearDirectory(h.config.disk(), dir); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("export shard %d: %w", shardID, ctx.Err())
		case <-time.After(exportPause):
		}
	}
}

// hasMembers reports whether the replica knows its members. Before that the engine exports nothing, and an export
// request ends the process.
func (h *Host) hasMembers(shardID uint64) bool {
	for _, info := range h.engine.GetNodeHostInfo(dragonboat.DefaultNodeHostInfoOption).ShardInfoList {
		if info.ShardID == shardID {
			return !info.Pending && len(info.Replicas) > 0
		}
	}
	return false
}

func clearDirectory(disk vfs.FS, dir string) error {
	if err := disk.RemoveAll(dir); err != nil {
		return err
	}
	return disk.MkdirAll(dir, 0o750)
}

// importStates imports the exported states into a host's directory.
func importStates(scratch string, config Config, states map[uint64]State) error {
	disk := config.disk()
	lock, err := claimDirectory(&config, disk)
	if err != nil {
		return err
	}
	defer lock.release()
	if lock.used {
		return fmt.Errorf("%s has a log already", config.DataDir)
	}
	replicas, err := loadReplicas(disk.FS, config.DataDir, false)
	if err != nil {
		return err
	}
	for _, shardID := range slices.Sorted(maps.Keys(states)) {
		replica := states[shardID].Replica
		if err := replicas.set(shardID, replicaRecord{Replica: replica}); err != nil {
			return err
		}
		engine := config.engineConfig(nil, nil, disk, disk.store(config))
		if err := importState(engine, exportDirectory(scratch, shardID), replica); err != nil {
			return fmt.Errorf("shard %d: %w", shardID, err)
		}
	}
	return lock.record(config, disk.FS)
}

// importState imports the exported snapshot in a directory: the engine's host is the only member, with a replica.
func importState(engine config.NodeHostConfig, dir string, replica uint64) error {
	disk := engine.Expert.FS
	found, err := disk.List(dir)
	found = slices.DeleteFunc(found, func(name string) bool { return !strings.HasPrefix(name, "snapshot-") })
	if err != nil || len(found) != 1 {
		return fmt.Errorf("exported snapshots: %v, %w", found, err)
	}
	members := map[uint64]string{replica: engine.RaftAddress}
	return tools.ImportSnapshot(engine, filepath.Join(dir, found[0]), members, replica)
}

// exported is a state machine for saving only.
type exported struct{ shard.Saver }

// Apply implements shard.StateMachine.
func (exported) Apply([]shard.Entry) error { return errors.New("nothing is proposed here") }

// Restore implements shard.StateMachine.
func (exported) Restore(io.Reader) error { return errors.New("no snapshot is read here") }

// LeadershipChanged implements shard.StateMachine.
func (exported) LeadershipChanged(shard.Leadership) {}
