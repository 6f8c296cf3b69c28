package raftlog

import (
	"runtime"
	_ "unsafe" // for go:linkname

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/logdb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// The limits of the engine. They are a safety net: the bounds of Config are reached first unless a majority is stuck.
const (
	// maxUnappliedBytes is what a replica's entries may hold in memory before the engine refuses more.
	maxUnappliedBytes = 256 << 20
	// maxQueuedBytes is what may wait to be sent to one host, or to be handled by one shard. More is dropped, and Raft
	// repeats it.
	maxQueuedBytes = 128 << 20

	// storeBufferBytes is what the log stores of a host collect in memory before they write tables. They hold at most
	// four times as much. With less, more is written twice.
	storeBufferBytes = 64 << 20

	// snapshotWorkers may save or restore snapshots at the same time.
	snapshotWorkers = 8
	closeWorkers    = 4
	maxApplyWorkers = 16
)

// storeBuffer is what each log store of a host collects in memory before it writes a table, and therefore about as
// large as its log files become.
func (c Config) storeBuffer() uint64 { return storeBufferBytes / uint64(c.Workers) }

// engineConfig is the config of the engine, one per host.
func (c Config) engineConfig(events raftio.IRaftEventListener, transport config.TransportFactory,
	disk *files) config.NodeHostConfig {
	store := config.GetMediumMemLogDBConfig()
	store.Shards = uint64(c.Workers)
	store.KVWriteBufferSize = c.storeBuffer()
	var logDB config.LogDBFactory // nil: the engine's own
	if c.ownStore {
		logDB = &logdb.Factory{
			Disk: wal.Disk{FS: disk.FS, OpenData: disk.open}, Existing: c.Used, Synced: disk.synced,
		}
	}
	return config.NodeHostConfig{
		DeploymentID:        c.Deployment,
		NodeHostDir:         c.DataDir,
		RTTMillisecond:      uint64(c.Tick.Milliseconds()),
		RaftAddress:         c.address(),
		EnableMetrics:       c.Metrics,
		RaftEventListener:   events,
		SystemEventListener: c.systemEvents(),
		MaxSendQueueSize:    maxQueuedBytes,
		MaxReceiveQueueSize: maxQueuedBytes,
		Expert: config.ExpertConfig{
			TransportFactory: transport,
			FS:               vfs.Wrap(disk, noFaults{}),
			LogDB:            store,
			LogDBFactory:     logDB,
			Engine: config.EngineConfig{
				ExecShards:     uint64(c.Workers),
				CommitShards:   1,
				ApplyShards:    uint64(min(runtime.GOMAXPROCS(0), maxApplyWorkers)),
				SnapshotShards: snapshotWorkers,
				CloseShards:    closeWorkers,
			},
		},
	}
}

// replicaConfig is the config of one replica.
func (c Config) replicaConfig(shardID uint64) config.Config {
	return config.Config{
		ShardID:   shardID,
		ReplicaID: uint64(c.Host),
		// A leader that lost its majority must notice, and a host that comes back must not depose a
		// leader that works. Both need the other one.
		CheckQuorum:         true,
		PreVote:             true,
		OrderedConfigChange: true,
		ElectionRTT:         uint64(c.ElectionTicks),
		HeartbeatRTT:        uint64(c.HeartbeatTicks),
		SnapshotEntries:     uint64(c.SnapshotEntries),
		CompactionOverhead:  uint64(c.KeepEntries),
		MaxInMemLogSize:     uint64(max(maxUnappliedBytes, 4*c.MaxInFlightBytes)),
	}
}

// The engine keeps the entries that are not applied yet in a slice, and makes a new one whenever that has become empty:
// with room for 512, which are 50 KiB, after every batch where one batch comes at a time. That was nine tenths of all
// memory that a host allocated, and a collection of garbage 18 times a second. It can be set by a file in the working
// directory only, which is no place for a host to write to. So these two variables of the pinned version are set here;
// TestABatchTakesLittleMemory notices where that has no effect any more.
const (
	entriesRoom = 32 // of a new slice
	entriesFree = 8  // with less room than that in it a slice is replaced; less than entriesRoom
)

// entrySliceSize is the engine's room of a new slice.
//
//go:linkname entrySliceSize github.com/lni/dragonboat/v4/internal/raft.entrySliceSize
var entrySliceSize uint64

// minEntrySliceSize is the room below which the engine replaces a slice.
//
//go:linkname minEntrySliceSize github.com/lni/dragonboat/v4/internal/raft.minEntrySliceSize
var minEntrySliceSize uint64

func init() { entrySliceSize, minEntrySliceSize = entriesRoom, entriesFree }
