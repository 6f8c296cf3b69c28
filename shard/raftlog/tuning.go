package raftlog

import (
	"cmp"
	"runtime"

	"github.com/lni/dragonboat/v4/config"
)

// Engine limits. The limits are a safety net: the bounds in Config are reached first unless a majority is stuck.
const (
	// maxUnappliedBytes is the maximum memory for a replica's entries before the engine refuses further entries.
	maxUnappliedBytes = 256 << 20
	// maxQueuedBytes bounds the message queue for each host, and for each shard, unless overridden by Config. Further
	// messages are dropped, and Raft repeats dropped messages.
	maxQueuedBytes = 128 << 20

	// snapshotWorkers is the maximum number of concurrent snapshot saves and restores.
	snapshotWorkers = 8
	closeWorkers    = 4
	maxApplyWorkers = 16
)

// engineConfig is the engine's config, one per host.
func (c Config) engineConfig(events *events, transport config.TransportFactory,
	disk *disk, store config.LogDBFactory) config.NodeHostConfig {
	// The engine always uses the number of shards from its own store's settings. The number must be a multiple of the
	// workers.
	own := config.GetTinyMemLogDBConfig()
	own.Shards = uint64(c.Workers)
	return config.NodeHostConfig{
		DeploymentID:        c.Deployment,
		NodeHostDir:         c.DataDir,
		RTTMillisecond:      uint64(c.Tick.Milliseconds()),
		RaftAddress:         c.target().String(),
		EnableMetrics:       c.Metrics,
		RaftEventListener:   events,
		SystemEventListener: events,
		MaxSendQueueSize:    cmp.Or(c.QueuedBytes, maxQueuedBytes),
		MaxReceiveQueueSize: cmp.Or(c.QueuedBytes, maxQueuedBytes),
		Expert: config.ExpertConfig{
			TransportFactory: transport,
			FS:               disk,
			LogDB:            own,
			LogDBFactory:     store,
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

// replicaConfig is the config for one replica.
func (c Config) replicaConfig(shardID uint64, r replicaRecord) config.Config {
	return config.Config{
		ShardID:   shardID,
		ReplicaID: r.Replica,
		// A replica that joined always starts as a learner for the engine, even after a promotion: the engine then
		// finds the promotion in the log or in the snapshot. Otherwise the engine would stop the process on reading the
		// entry that added the replica.
		IsNonVoting: r.Joined,
		// A leader without its majority must notice the loss, and a returning host must not depose a working leader.
		// The two settings work only together.
		CheckQuorum:         true,
		PreVote:             true,
		OrderedConfigChange: true,
		ElectionRTT:         uint64(c.ElectionTicks),
		HeartbeatRTT:        uint64(c.HeartbeatTicks),
		SnapshotEntries:     0, // see takeSnapshots
		MaxInMemLogSize:     uint64(max(maxUnappliedBytes, 4*c.MaxInFlightBytes)),
	}
}
