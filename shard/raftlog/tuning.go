package raftlog

import (
	"runtime"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/vfs"
)

// What the engine's own limits are set to. They are safety nets: the bounds of Config are reached
// first unless a majority is stuck.
const (
	// maxUnappliedBytes is what a replica's entries may hold in memory before the engine refuses more.
	maxUnappliedBytes = 256 << 20
	// maxQueuedBytes is what may wait to be sent to one host, or to be handled by one shard. More is
	// dropped, and the protocol repeats it.
	maxQueuedBytes = 128 << 20

	// storeBufferBytes is what the log stores of a host collect in memory before they write tables, and
	// four times that the most that they hold. With less, more is written twice.
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
func (c Config) engineConfig(events raftio.IRaftEventListener, transport config.TransportFactory, disk *files) config.NodeHostConfig {
	store := config.GetMediumMemLogDBConfig()
	store.Shards = uint64(c.Workers)
	store.KVWriteBufferSize = c.storeBuffer()
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
			FS:               vfs.Wrap(disk, unharmed{}),
			LogDB:            store,
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
