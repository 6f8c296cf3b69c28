package raftlog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/logdb"
)

// scratchDirectory has the directories for Salvage and Regroup calls. It is beside the data directory, because Open
// refuses a data directory with a partial file. Open removes what a killed process has left there.
func scratchDirectory(dataDir string) string { return filepath.Clean(dataDir) + ".scratch" }

// withScratch calls a function with an empty directory, which is removed afterwards.
func (h *Host) withScratch(do func(dir string) error) error {
	disk, dir := h.config.disk(), filepath.Join(scratchDirectory(h.config.DataDir), fmt.Sprint(h.scratches.Add(1)))
	if err := clearDirectory(disk, dir); err != nil {
		return err
	}
	return errors.Join(do(dir), disk.RemoveAll(dir))
}

// Remnant returns how much of a shard's log this host has, including uncommitted entries. The replica may be running.
// It fails with shard.ErrNotMember if the host has nothing of the shard.
func (h *Host) Remnant(shardID uint64) (Remnant, error) {
	last, err := h.store.Load().LastEntry(shardID, h.replica(shardID).Replica)
	if err == nil && last.Index == 0 {
		err = shard.ErrNotMember
	}
	if err != nil {
		return Remnant{}, fmt.Errorf("raftlog: read how far shard %d is: %w", shardID, err)
	}
	return remnant(last), nil
}

// Salvage stops this host's replica of a shard, and applies all entries the replica has, known as committed or not, to
// an empty state machine. So every committed entry that has reached the host is applied, even if the host had not
// learned about the commit. The replica itself is not changed: until Regroup has made another replica, Start restarts
// the replica with its old content. Nothing changes the machine after the return.
func (h *Host) Salvage(ctx context.Context, shardID uint64, machine shard.StateMachine) (r Remnant, err error) {
	err = h.withScratch(func(dir string) error {
		c, last, err := h.copyReplica(shardID, filepath.Join(dir, "copy"))
		if err != nil {
			return err
		}
		r = remnant(last)
		_, err = applyAll(ctx, c, dir, []logdb.LastEntry{last}, func(uint64) shard.StateMachine { return machine })
		return err
	})
	if err != nil {
		return Remnant{}, fmt.Errorf("raftlog: salvage shard %d: %w", shardID, err)
	}
	return r, nil
}

// copyReplica stops this host's replica of a shard and copies it into a new data directory, with all entries committed.
func (h *Host) copyReplica(shardID uint64, dir string) (c Config, last logdb.LastEntry, err error) {
	defer h.change()()
	if h.closed {
		return c, last, ErrHostClosed
	}
	if l := h.log(shardID); l != nil {
		if err := l.Close(); err != nil {
			return c, last, err
		}
	}
	if _, err := h.Remnant(shardID); err != nil {
		return c, last, err
	}
	c, err = h.scratchConfig(dir, shardID)
	if err != nil {
		return c, last, err
	}
	record, err := recordOf(c)
	if err != nil {
		return c, last, err
	}
	engineDir, replica := record.engineDirectory(dir), h.replica(shardID).Replica
	if err := h.copySnapshot(shardID, replica, engineDir); err != nil {
		return c, last, err
	}
	db, err := c.disk().store(c).Open(engineDir)
	if err != nil {
		return c, last, err
	}
	last, err = h.store.Load().CopyCommitted(shardID, replica, db)
	return c, last, errors.Join(err, db.Close())
}

// scratchConfig creates a data directory with a record of this host's replica of a shard, and returns the config for a
// host that will run there, without a transport.
func (h *Host) scratchConfig(dir string, shardID uint64) (Config, error) {
	c := Config{
		Host: h.config.Host, Incarnation: h.config.Incarnation, DataDir: dir, InitialMembers: h.config.InitialMembers,
		Deployment: h.config.Deployment, Workers: h.config.Workers, Logger: h.config.Logger,
		Files: h.config.Files, Room: h.config.Room, Relieve: h.config.Relieve, Damaged: h.config.Damaged,
	}.withDefaults()
	if err := c.disk().MkdirAll(dir, 0o750); err != nil {
		return c, err
	}
	replicas, err := loadReplicas(c.disk().FS, dir, false)
	if err != nil {
		return c, err
	}
	return c, replicas.set(shardID, h.replica(shardID))
}

// copySnapshot copies a replica's snapshot, if any, below another engine directory. Hard links would be wrong here: the
// file system frees a removed snapshot's blocks piece by piece.
func (h *Host) copySnapshot(shardID, replica uint64, engineDir string) error {
	snapshot, err := h.store.Load().GetSnapshot(shardID, replica)
	if err != nil || raftpb.IsEmptySnapshot(snapshot) {
		return err
	}
	if err := h.room(2 * snapshot.FileSize); err != nil { // a copy, and the export after the last entry
		return err
	}
	path, ok := logdb.PathBelow(engineDir, snapshot.Filepath)
	if !ok {
		return missingFile(snapshot.Filepath)
	}
	disk, from, to := h.config.disk(), filepath.Dir(snapshot.Filepath), filepath.Dir(path)
	names, err := disk.List(from)
	if err == nil {
		err = disk.MkdirAll(to, 0o750)
	}
	for _, name := range names {
		if err != nil {
			return err
		}
		err = vfs.Copy(disk.FS, filepath.Join(from, name), filepath.Join(to, name))
	}
	return err
}

// Renew makes a replica on this host the only voter in a shard's new group, as Regroup does. The machine before
// receives the content of this host's replica from the previous group, if there is one, and the function renew derives
// the new group's initial state from the machine. A second Renew does nothing.
func (h *Host) Renew(ctx context.Context, shardID, replica, group uint64, before shard.StateMachine,
	renew func() (shard.Saver, error)) error {
	has, joined := h.Replica(shardID)
	if has == replica && !joined {
		return nil
	}
	if has != 0 {
		if _, err := h.Salvage(ctx, shardID, before); err != nil {
			return err
		}
	}
	state, err := renew()
	if err != nil {
		return err
	}
	return h.Regroup(ctx, shardID, replica, group, state)
}

// MaxGroup is the largest group number.
const MaxGroup = math.MaxUint32

// groupTerm returns the term for a group's first entry. All terms in a group are above all terms in earlier groups, so
// the leader with the highest term belongs to the latest group. Shards are bootstrapped in group 0.
func groupTerm(group uint64) uint64 { return group << shard.GroupTermBits }

// Regroup makes a replica on this host a shard's only voter, beginning with a state. It is meant for a shard that has
// permanently lost its majority, or all replicas. The caller must choose a replica id above all earlier ids, and a
// group number above all earlier groups of the shard. The shard must not be running on this host, because the state
// would lack what the replica has received meanwhile.
//
// Until Regroup returns, the host has either its earlier replica, unchanged, or the new replica. Regroup can be
// repeated with the same replica, also by a new process; it then only removes what is left of the earlier replica.
// Start starts the new replica.
func (h *Host) Regroup(ctx context.Context, shardID, replica, group uint64, state shard.Saver) error {
	err := h.withScratch(func(dir string) error { return h.regroup(ctx, shardID, replica, group, state, dir) })
	if err != nil {
		return fmt.Errorf("raftlog: make shard %d anew as replica %d in group %d: %w", shardID, replica, group, err)
	}
	return nil
}

func (h *Host) regroup(ctx context.Context, shardID, replica, group uint64, state shard.Saver, scratch string) error {
	if done, err := h.mayRegroup(shardID, replica, group); !done {
		if err == nil {
			err = exportStates(ctx, scratch, h.config, map[uint64]State{shardID: {Machine: state}})
		}
		if err != nil {
			return err
		}
	}
	defer h.change()()
	done, err := h.mayRegroup(shardID, replica, group)
	if err != nil {
		return err
	}
	if !done {
		if err := h.begin(shardID, replica, group, exportDirectory(scratch, shardID)); err != nil {
			return err
		}
	}
	return h.removeDiscarded(ctx, shardID, true)
}

// mayRegroup reports whether the host has the new group's replica already, and returns why the replica may not begin.
func (h *Host) mayRegroup(shardID, replica, group uint64) (done bool, err error) {
	record := h.replica(shardID)
	if record.Replica == replica && !record.Joined {
		return true, nil
	}
	if group == 0 || group > MaxGroup {
		return false, ErrGroup
	}
	if h.log(shardID) != nil {
		return false, ErrShardStarted
	}
	if r, err := h.Remnant(shardID); err == nil && r.Term >= groupTerm(group) {
		return false, fmt.Errorf("%w, of group %d", ErrOtherReplica, r.Term>>shard.GroupTermBits)
	}
	_, err = record.regroup(replica)
	return false, err
}

// begin imports the exported state for a replica, and then makes it the host's replica of the shard. The caller has the
// lifecycle token.
func (h *Host) begin(shardID, replica, group uint64, exported string) error {
	if h.closed {
		return ErrHostClosed
	}
	store := importStore{h.store.Load(), groupTerm(group)}
	// An earlier call may have been interrupted. The import begins by removing the earlier call's snapshot, so the log
	// must not name that snapshot any more.
	if err := store.RemoveNodeData(shardID, replica); err != nil {
		return err
	}
	if err := importState(h.config.engineConfig(nil, nil, h.config.disk(), store), exported, replica); err != nil {
		return err
	}
	record, err := h.replica(shardID).regroup(replica)
	if err != nil {
		return err
	}
	return h.replicas.set(shardID, record)
}

// importStore is an open host's log store for the engine's import. The imported snapshot gets a group's term.
type importStore struct {
	*logdb.DB
	term uint64
}

// Create implements config.LogDBFactory.
func (s importStore) Create(config.NodeHostConfig, config.LogDBCallback, []string, []string) (raftio.ILogDB, error) {
	return s, nil
}

// ImportSnapshot implements raftio.ILogDB.
func (s importStore) ImportSnapshot(snapshot raftpb.Snapshot, replica uint64) error {
	snapshot.Term = s.term
	return s.DB.ImportSnapshot(snapshot, replica)
}

// Close implements raftio.ILogDB. The store stays open for the host.
func (importStore) Close() error { return nil }
