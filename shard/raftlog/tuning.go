package raftlog

import (
	"runtime"

	"github.com/lni/dragonboat/v4/config"
)

// The limits of the engine. They are a safety net: the bounds of Config are reached first unless a majority is stuck.
const (
	// maxUnappliedBytes is what a replica's entries may hold in memory before the engine refuses more.
	maxUnappliedBytes = 256 << 20
	// maxQueuedBytes is what may wait to be sent to one host, or to be handled by one shard. More is dropped, and Raft
	// repeats it.
	maxQueuedBytes = 128 << 20

	// snapshotWorkers may save or restore snapshots at the same time.
	snapshotWorkers = 8
	closeWorkers    = 4
	maxApplyWorkers = 16
)

// engineConfig is the config of the engine, one per host.
func (c Config) engineConfig(events *events, transport config.TransportFactory,
	disk *disk, store config.LogDBFactory) config.NodeHostConfig {
	// Of the settings of the engine's own store the engine needs one for any store: a multiple of the workers.
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
		MaxSendQueueSize:    maxQueuedBytes,
		MaxReceiveQueueSize: maxQueuedBytes,
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

// replicaConfig is the config of one replica.
func (c Config) replicaConfig(shardID uint64, r replicaRecord) config.Config {
	return config.Config{
		ShardID:   shardID,
		ReplicaID: r.Replica,
		// One that joined is a learner to the engine whenever it starts, also once it votes: it then finds its
		// promotion in its log or its snapshot. Otherwise it would stop the process where its log has that it was
		// added.
		IsNonVoting: r.Joined,
		// A leader that lost its majority must notice, and a host that comes back must not depose a
		// leader that works. Both need the other one.
		CheckQuorum:         true,
		PreVote:             true,
		OrderedConfigChange: true,
		ElectionRTT:         uint64(c.ElectionTicks),
		HeartbeatRTT:        uint64(c.HeartbeatTicks),
		SnapshotEntries:     0, // see takeSnapshots
		MaxInMemLogSize:     uint64(max(maxUnappliedBytes, 4*c.MaxInFlightBytes)),
	}
}
