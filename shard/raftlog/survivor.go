package raftlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/signalbox/signalbox/shard"
)

// Remnant is how far a host that is stopped has come with a shard.
type Remnant struct {
	Shard uint64
	// Term and Index are those of the last entry that it has. Of two hosts of one shard the one with the higher term,
	// or with the same term and the higher index, has all that the other one has that was ever committed.
	Term, Index uint64
}

// ReadRemnants applies all that a stopped host has, whether or not it knows it to be committed, to state machines. It
// works on a copy below a directory that is made for it and removed again, and changes nothing of what the host has. So
// what was committed and reached this host is there, although the host had not learned that it was.
//
// The machine of each shard is asked for once, and nothing changes it after ReadRemnants has returned.
func ReadRemnants(ctx context.Context, dir, scratch string, logger *slog.Logger,
	machine func(shardID uint64) shard.StateMachine) (list []Remnant, err error) {
	if err := clearDirectory(systemDisk(), scratch); err != nil {
		return nil, fmt.Errorf("raftlog: read what is left in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	config, err := copyDirectory(dir, filepath.Join(scratch, "copy"))
	config.Logger = logger
	if err == nil {
		list, err = commitAll(config)
	}
	if err == nil {
		list, err = applyAll(ctx, config, scratch, list, machine)
	}
	if err != nil {
		return nil, fmt.Errorf("raftlog: read what is left in %s: %w", dir, err)
	}
	return list, nil
}

// copyDirectory copies a data directory that no process uses, and returns what opens the copy.
func copyDirectory(dir, copied string) (c Config, err error) {
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return c, err
	}
	var record directoryRecord
	if err := json.Unmarshal(text, &record); err != nil {
		return c, err
	}
	if err := record.checkFormat(dir); err != nil {
		return c, err
	}
	c = Config{
		Host: record.Host, Incarnation: record.Incarnation, DataDir: dir, Used: true, Founders: record.Founders,
		Deployment: record.Deployment, Workers: record.Workers,
	}.withDefaults()
	lock, err := claimDirectory(c, systemDisk())
	if err != nil {
		return c, err
	}
	defer lock.release()
	c.DataDir = copied
	return c, os.CopyFS(copied, os.DirFS(dir))
}

// commitAll makes all that is in the log of a copy committed.
func commitAll(c Config) (list []Remnant, err error) {
	text, err := os.ReadFile(filepath.Join(c.DataDir, recordFile))
	var record directoryRecord
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		return nil, err
	}
	db, err := systemDisk().store(c).Open(record.engineDirectory(c.DataDir))
	if err != nil {
		return nil, err
	}
	entries, err := db.CommitAll()
	for _, e := range entries {
		list = append(list, Remnant{Shard: e.Shard, Term: e.Term, Index: e.Index})
	}
	return list, errors.Join(err, db.Close())
}

// applyAll runs the replicas of a copy, each by itself, until they have applied everything.
func applyAll(ctx context.Context, c Config, scratch string, list []Remnant,
	machine func(shardID uint64) shard.StateMachine) (read []Remnant, err error) {
	host, err := Open(c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	for _, r := range list {
		if replica, _ := host.Replica(r.Shard); replica == 0 {
			continue // one that was removed, and not discarded yet
		}
		if _, err := host.Start(r.Shard, unled{machine(r.Shard)}); err != nil {
			return nil, err
		}
		dir := filepath.Join(scratch, fmt.Sprint("shard-", r.Shard))
		if err := clearDirectory(systemDisk(), dir); err != nil {
			return nil, err
		}
		if _, err := host.export(ctx, r.Shard, dir, r.Index); err != nil {
			return nil, err
		}
		read = append(read, r)
	}
	return read, nil
}

// unled is a state machine that is notified of no leader.
type unled struct{ shard.StateMachine }

// LeadershipChanged implements shard.StateMachine.
func (unled) LeadershipChanged(shard.Leadership) {}
