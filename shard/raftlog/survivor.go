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
	"github.com/signalbox/signalbox/shard/raftlog/logdb"
)

// Remnant is how much of a shard a host has. Hosts with the same last entry have equal remnants.
type Remnant struct {
	Shard uint64
	// Term and Index belong to the host's last entry. For two hosts with the same shard, the host with the higher term,
	// or with an equal term and the higher index, has every committed entry the other host has.
	Term, Index uint64
}

func remnant(last logdb.LastEntry) Remnant {
	return Remnant{Shard: last.Shard, Term: last.Term, Index: last.Index}
}

// ReadRemnants applies all entries on a stopped host, known as committed or not, to state machines. It works on a copy
// below a directory it creates and removes again, and changes nothing in the host's directory. So every committed entry
// that has reached the host is applied, even if the host had not learned about the commit.
//
// ReadRemnants asks for each shard's machine once, and nothing changes the machine after the return.
func ReadRemnants(ctx context.Context, dir, scratch string, logger *slog.Logger,
	machine func(shardID uint64) shard.StateMachine) (list []Remnant, err error) {
	if err := clearDirectory(systemDisk(), scratch); err != nil {
		return nil, fmt.Errorf("raftlog: read what is left in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	config, engineDir, err := copyDirectory(dir, filepath.Join(scratch, "copy"))
	config.Logger = logger
	var last []logdb.LastEntry
	if err == nil {
		last, err = commitAll(config, engineDir)
	}
	if err == nil {
		list, err = applyAll(ctx, config, scratch, last, machine)
	}
	if err != nil {
		return nil, fmt.Errorf("raftlog: read what is left in %s: %w", dir, err)
	}
	return list, nil
}

// copyDirectory copies a data directory that is not in use, and returns the config for opening the copy, and the
// engine's directory in the copy.
func copyDirectory(dir, copied string) (c Config, engineDir string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	var record directoryRecord
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err == nil {
		err = record.checkFormat(dir)
	}
	if err != nil {
		return c, "", err
	}
	c = Config{
		Host: record.Host, Incarnation: record.Incarnation, DataDir: dir, Used: true,
		InitialMembers: record.InitialMembers,
		Deployment:     record.Deployment, Workers: record.Workers,
	}.withDefaults()
	lock, err := claimDirectory(&c, systemDisk())
	if err != nil {
		return c, "", err
	}
	defer lock.release()
	c.DataDir = copied
	return c, record.engineDirectory(copied), os.CopyFS(copied, os.DirFS(dir))
}

// commitAll marks all entries in a copy's log as committed.
func commitAll(c Config, engineDir string) (list []logdb.LastEntry, err error) {
	db, err := systemDisk().store(c).Open(engineDir)
	if err != nil {
		return nil, err
	}
	list, err = db.CommitAll()
	return list, errors.Join(err, db.Close())
}

// applyAll runs a copy's replicas, each by itself, until they have applied everything.
func applyAll(ctx context.Context, c Config, scratch string, list []logdb.LastEntry,
	machine func(shardID uint64) shard.StateMachine) (read []Remnant, err error) {
	host, err := Open(c)
	if err != nil {
		return nil, err
	}
	read, err = host.applyEach(ctx, scratch, list, machine)
	return read, errors.Join(err, host.Close()) // not deferred: if the engine panics, Close never returns
}

func (h *Host) applyEach(ctx context.Context, scratch string, list []logdb.LastEntry,
	machine func(shardID uint64) shard.StateMachine) (read []Remnant, err error) {
	for _, r := range list {
		if replica, _ := h.Replica(r.Shard); replica != r.Replica {
			continue // a removed replica, or a replica that Regroup did not finish
		}
		if _, err := h.Start(r.Shard, unled{machine(r.Shard)}); err != nil {
			return nil, err
		}
		dir := filepath.Join(scratch, fmt.Sprint("shard-", r.Shard))
		if err := clearDirectory(h.config.disk(), dir); err != nil {
			return nil, err
		}
		if err := h.export(ctx, r.Shard, dir, r.Index); err != nil {
			return nil, err
		}
		read = append(read, remnant(r))
	}
	return read, nil
}

// unled is a state machine that ignores leadership changes.
type unled struct{ shard.StateMachine }

// LeadershipChanged implements shard.StateMachine.
func (unled) LeadershipChanged(shard.Leadership) {}
