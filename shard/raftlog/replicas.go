package raftlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// replicaRecord names the host's replica of a shard. An initial member without a record has the replica from the
// shard's bootstrap: the replica id equals the host id.
type replicaRecord struct {
	// Replica is zero if the host has no replica of the shard. A replica with an id from transport.FirstJoined on that
	// has not joined was imported, or began as a group's only voter (Host.Regroup).
	Replica uint64 `json:"replica"`
	// Joined is set for a replica that was added as a learner.
	Joined bool `json:"joined,omitempty"`
	// Discarded are the host's earlier replicas. The engine never accepts these ids again.
	Discarded []uint64 `json:"discarded,omitempty"`
}

// replicas are a host's records, in one file. A record is durable before the engine acts on it.
type replicas struct {
	disk vfs.FS
	path string

	mu      sync.Mutex
	byShard map[uint64]replicaRecord // guarded by mu
}

// replicasFile holds the records, followed by a line with their checksum.
const replicasFile = "replicas.json"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// loadReplicas reads a directory's records. A new directory gets an empty file.
func loadReplicas(disk vfs.FS, dir string, used bool) (*replicas, error) {
	r := &replicas{disk: disk, path: filepath.Join(dir, replicasFile), byShard: make(map[uint64]replicaRecord)}
	text, err := wal.ReadFile(disk, r.path, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist) && used:
		return nil, missingFile(r.path)
	case errors.Is(err, fs.ErrNotExist):
		return r, r.write(r.byShard)
	case err != nil:
		return nil, fmt.Errorf("raftlog: read the records of replicas: %w", err)
	}
	records, sum, _ := bytes.Cut(text, []byte("\n\n"))
	if string(sum) != checksumLine(records) {
		return nil, damagedFile(r.path, 0, nil)
	}
	if err := json.Unmarshal(records, &r.byShard); err != nil {
		return nil, damagedFile(r.path, 0, err)
	}
	return r, nil
}

func checksumLine(records []byte) string {
	return fmt.Sprintf("%08x\n", crc32.Checksum(records, castagnoli))
}

func (r *replicas) write(byShard map[uint64]replicaRecord) error {
	text, err := json.MarshalIndent(byShard, "", "\t")
	if err == nil {
		err = writeDurably(r.disk, r.path, slices.Concat(text, []byte("\n\n"), []byte(checksumLine(text))))
	}
	if err != nil {
		return fmt.Errorf("raftlog: write the records of replicas: %w", err)
	}
	return nil
}

// every returns all records, by shard.
func (r *replicas) every() map[uint64]replicaRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byShard // replaced, never modified
}

// set makes a record durable.
func (r *replicas) set(shardID uint64, record replicaRecord) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(r.byShard)
	next[shardID] = record
	if err := r.write(next); err != nil {
		return err
	}
	r.byShard = next
	return nil
}

// replica returns the record for the host's replica of a shard; the id is zero if there is none.
func (h *Host) replica(shardID uint64) replicaRecord {
	if record, found := h.replicas.every()[shardID]; found {
		return record
	}
	_, initialMember := h.config.InitialMembers[h.config.Host]
	if last := h.config.InitialShards; initialMember && (last == 0 || shardID <= last) {
		return replicaRecord{Replica: uint64(h.config.Host)}
	}
	return replicaRecord{}
}

// Recorded returns the shards with a replica on this host that joined or began after the shard's bootstrap, smallest
// first.
func (h *Host) Recorded() (list []uint64) {
	for shardID, record := range h.replicas.every() {
		if record.Replica != 0 {
			list = append(list, shardID)
		}
	}
	slices.Sort(list)
	return list
}

// Replica returns the id of this host's replica of a shard, and whether the replica joined the shard. The id is zero if
// the host has no replica; a bootstrap replica counts even before the shard is started for the first time.
func (h *Host) Replica(shardID uint64) (replica uint64, joined bool) {
	record := h.replica(shardID)
	return record.Replica, record.Joined
}

// join returns the record for a replica that is about to join a shard.
func (r replicaRecord) join(replica uint64) (replicaRecord, error) {
	switch {
	case replica < transport.FirstJoined:
		return r, fmt.Errorf("%w: replica %d cannot have joined", ErrOtherReplica, replica)
	case slices.Contains(r.Discarded, replica):
		return r, fmt.Errorf("%w: replica %d was discarded", ErrOtherReplica, replica)
	case r.Replica != 0 && r.Replica != replica:
		return r, fmt.Errorf("%w: replica %d", ErrOtherReplica, r.Replica)
	}
	return replicaRecord{Replica: replica, Joined: true, Discarded: r.Discarded}, nil
}

// discard returns the record after a replica is discarded, never to start again.
func (r replicaRecord) discard(replica uint64) replicaRecord {
	next := replicaRecord{Replica: r.Replica, Joined: r.Joined, Discarded: r.Discarded}
	if r.Replica == replica {
		next.Replica, next.Joined = 0, false
	}
	if !slices.Contains(r.Discarded, replica) {
		next.Discarded = append(slices.Clone(r.Discarded), replica)
	}
	return next
}

// regroup returns the record after a replica has become the shard's only voter. The replica id is above all earlier ids
// on the host: other hosts regard a host's replica with the largest id as its newest replica.
func (r replicaRecord) regroup(replica uint64) (replicaRecord, error) {
	newest := slices.Max(append([]uint64{r.Replica, transport.FirstJoined - 1}, r.Discarded...))
	if replica <= newest {
		return r, fmt.Errorf("%w: replica %d, and the id of a later replica is above", ErrOtherReplica, newest)
	}
	next := r
	if r.Replica != 0 {
		next = r.discard(r.Replica)
	}
	next.Replica, next.Joined = replica, false
	return next, nil
}
