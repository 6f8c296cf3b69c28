package restore

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// Read reads everything a stopped host has from its cluster, including entries not known to be committed. Read works
// on a copy in a scratch directory, and does not change the host's directory.
func Read(ctx context.Context, dir, scratch, version string) (*backup.States, error) {
	directory, err := identity.Claim(dir)
	if err != nil {
		return nil, err
	}
	defer directory.Release()
	id, err := identity.Read(dir)
	if err != nil {
		return nil, err
	}
	if !id.Bootstrapped() {
		return nil, fmt.Errorf("restore: the host in %s was never in a cluster", dir)
	}
	written, err := lastWritten(filepath.Join(dir, identity.LogName))
	if err != nil {
		return nil, err
	}
	states := backup.NewStates(backupfile.Header{
		Cluster: id.Cluster, ClusterName: id.ClusterName, Generation: backupfile.Generation(id.Generation),
		Begun: written, Shards: id.Shards, Version: version, Host: id.HostName,
	})
	remnants, err := raftlog.ReadRemnants(ctx, filepath.Join(dir, identity.LogName), scratch, quiet,
		func(shardID uint64) shard.StateMachine { return reading(states, meta.ShardID(shardID), id.Shards) })
	if err != nil {
		return nil, err
	}
	for _, r := range remnants {
		id := meta.ShardID(r.Shard)
		states.Sections[id] = backupfile.Section{Shard: r.Shard, Term: r.Term, Index: r.Index}
	}
	if states.Meta != nil {
		states.Header.Level = states.Meta.Level()
	}
	return states, nil
}

// lastWritten returns when a log file was last written, which is the state's age. A time in the future, from a
// machine with a wrong clock, counts as now.
func lastWritten(dir string) (last time.Time, err error) {
	err = filepath.WalkDir(dir, func(_ string, at fs.DirEntry, err error) error {
		if err != nil || !at.Type().IsRegular() {
			return err
		}
		info, err := at.Info()
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return err
	})
	if now := time.Now(); err == nil && (last.IsZero() || last.After(now)) {
		last = now
	}
	return last.UTC(), err
}

// quiet discards the engine's log lines.
var quiet = slog.New(slog.DiscardHandler)

// reading returns a state machine that applies a shard's log to the shard's machine.
func reading(s *backup.States, id meta.ShardID, shards int) shard.StateMachine {
	if id == 0 {
		s.Meta = meta.New()
		return &metaFollower{Machine: s.Meta}
	}
	slots := initialSlots(id, shards)
	s.Data[id] = machine.New(kinds.All(), machine.Options{Shard: uint64(id), Slots: slots, NoSlots: slots.Len() == 0,
		Began: machine.Bootstrap})
	return &machine.Follower{Machine: s.Data[id]}
}

// initialSlots returns a data shard's slots at the cluster's bootstrap.
func initialSlots(id meta.ShardID, shards int) (slots shard.SlotSet) {
	var ids []meta.ShardID
	for i := range shards {
		ids = append(ids, meta.ShardID(i+1))
	}
	for _, g := range meta.InitialRanges(ids) {
		if g.Shard == id {
			slots.Add(g.First, g.Last)
		}
	}
	return slots
}

// metaFollower applies the meta shard's log to a machine.
type metaFollower struct {
	*meta.Machine
	batch   meta.Batch
	effects meta.Effects
}

// Apply implements shard.StateMachine.
func (f *metaFollower) Apply(entries []shard.Entry) error {
	for i := range entries {
		if err := meta.DecodeBatch(entries[i].Data, &f.batch, f.Level()); err != nil {
			return fmt.Errorf("the meta shard, entry %d: %w", entries[i].Index, err)
		}
		f.effects.Reset()
		f.Machine.Apply(&f.batch, &f.effects)
	}
	return nil
}

// LeadershipChanged implements shard.StateMachine.
func (*metaFollower) LeadershipChanged(shard.Leadership) {}
