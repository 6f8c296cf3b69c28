package raftlog

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// Defaults for a Config. DESIGN.md has the figures behind them.
const (
	// DefaultTick is the time unit for elections and heartbeats. Every tick wakes an idle host: at 50 ms an idle host
	// uses half the processor time needed at 20 ms, and elections take as long.
	DefaultTick = 50 * time.Millisecond
	// DefaultHeartbeatTicks sends enough heartbeats that five in six may be lost before a follower reacts.
	DefaultHeartbeatTicks = 1
	// DefaultProposalTimeout covers several elections.
	DefaultProposalTimeout = 2 * time.Second
	// DefaultBarrierTimeout lets a barrier outlast an election.
	DefaultBarrierTimeout = 2 * time.Second
	// DefaultMaxInFlight is far above what one proposer with few batches in flight needs.
	DefaultMaxInFlight = 256
	// DefaultMaxInFlightBytes bounds the memory for a shard's unfinished batches.
	DefaultMaxInFlightBytes = 64 << 20
	// DefaultSnapshotBytes and DefaultKeepBytes bound the disk space for a small state.
	DefaultSnapshotBytes = 64 << 20
	DefaultKeepBytes     = DefaultSnapshotBytes / keptPart
)

// Limits for a Config.
const (
	// MaxInitialMembers is the maximum number of initial members in a cluster.
	MaxInitialMembers = 31
	MaxHostID         = math.MaxUint32
	MaxWorkers        = 16
	// MinSecretBytes is the minimum secret length: a shorter secret could be guessed from a recorded handshake.
	MinSecretBytes = 16
	// MaxBatchBytes is the largest batch that can be proposed.
	MaxBatchBytes = transport.MaxBatchBytes

	keptPart = 4 // by default, a quarter of the log between two snapshots is kept behind a snapshot

	minTick = time.Millisecond
	maxTick = time.Second
)

// ErrConfig is returned wrapped by Validate and Open for an invalid config.
var ErrConfig = errors.New("raftlog: bad config")

// Config has everything a host needs to run its shards' logs. Host, Incarnation and DataDir have no default.
type Config struct {
	// Host is this host's id, 1 to MaxHostID. The id never changes and is never reused for another host.
	Host shard.HostID
	// Incarnation was drawn when DataDir was made. A host with a different incarnation is a different host.
	Incarnation hosts.Incarnation
	// DataDir holds the log and the snapshots. Open creates a missing directory. From then on the directory belongs to
	// this incarnation and to this machine's host name.
	DataDir string
	// Files is the file system for DataDir; nil uses the operating system.
	Files *Files
	// Used is set if a host was opened on DataDir before: a directory without a record is then damaged.
	Used bool
	// LogEnd is the durable end of the log, as last recorded outside the log: a log with an earlier end is damaged.
	LogEnd wal.End
	// Confirmed are other hosts' confirmations, as last recorded.
	Confirmed []Confirmed
	// InitialMembers are the hosts the cluster was bootstrapped with, by id, below transport.FirstJoined. The initial
	// members are part of the replicated log. A host that is not an initial member has joined later. Default: this host
	// alone.
	InitialMembers map[shard.HostID]hosts.Incarnation
	// InitialShards is how many data shards the cluster was bootstrapped with, as shards 1 to InitialShards. Later
	// shards have no bootstrap replica. 0 means that there are no later shards.
	InitialShards uint64
	// Deployment is derived from the cluster id: hosts in different deployments refuse each other's messages. This
	// guards against mistakes, not against attackers. Must not be zero in a cluster with several hosts.
	Deployment uint64

	// Transport connects to the other hosts. The transport has this host's identity, and must be closed after the host.
	// A host without a transport never connects to other hosts.
	Transport *transport.Transport

	// Tick, ElectionTicks, HeartbeatTicks: a leader sends heartbeats every HeartbeatTicks; a follower without a
	// heartbeat for ElectionTicks to twice as many stands for election; and a leader without answers from a majority
	// for ElectionTicks steps down. All hosts must have the same values.
	Tick           time.Duration
	ElectionTicks  int
	HeartbeatTicks int

	// ProposalTimeout is the time after which an unapplied batch ends as shard.OutcomeUnknown.
	ProposalTimeout time.Duration
	// BarrierTimeout ends a barrier with shard.ErrNoQuorum, up to a third later.
	BarrierTimeout time.Duration
	// MaxInFlight and MaxInFlightBytes bound a shard's batches with unknown outcomes. Beyond the bounds Propose returns
	// shard.ErrLogBusy.
	MaxInFlight      int
	MaxInFlightBytes int

	// SnapshotBytes is the log length after which a replica saves a snapshot and drops the earlier log: the batch
	// bytes, plus BatchBytes and CommandBytes for each batch and command. The length bounds how much a restart must
	// apply, and the log's disk space. Default: the last snapshot's size, and at least DefaultSnapshotBytes without the
	// commands.
	SnapshotBytes int64
	// KeepBytes is how much log before a snapshot is kept for lagging followers; commands do not count here. Default: a
	// quarter of SnapshotBytes, or DefaultKeepBytes.
	KeepBytes int64

	// Workers is how many goroutines step the shards in a new data directory; 0 depends on the disk's speed. A used
	// directory keeps its number.
	Workers int

	// Room, if set, returns why the disk has no space for the given number of bytes in an optional file, that is, in a
	// snapshot. The host then gives up or refuses the snapshot. Room is called regularly while a snapshot is being
	// saved.
	Room func(bytes uint64) error
	// Full, if set, returns why this host should refuse log entries from other hosts, and should not lead if another
	// host can: the disk is nearly full. Full is called for every message.
	Full func() error

	// Memory, if set, returns why this host has no memory for growth: its shards' leaders then refuse growing commands.
	// Memory is called for every heartbeat.
	Memory func() error
	// ShardBytes is how many bytes a shard may hold on this host, as counted by its quota: Log.Allowance reports it at
	// the leaders. 0 means unknown.
	ShardBytes uint64
	// RecentBytes is how much log is kept in memory for slightly lagging followers; 0 means logdb.DefaultRecentBytes.
	RecentBytes int64
	// QueuedBytes bounds the message queue for each host, and for each shard; 0 means 128 MiB.
	QueuedBytes uint64
	// Fits, if set, returns why this host's memory cannot hold a snapshot with the given number of additional bytes:
	// the host then refuses the snapshot.
	Fits func(bytes uint64) error

	// Synced is called, if set, with the duration of each log file sync. It must not block.
	Synced func(time.Duration)

	// Transfers, if set, is notified about snapshots between hosts.
	Transfers Transfers
	// Relieve, if set, frees the host's reserved disk space for mandatory writes. It must not block.
	Relieve func()
	// Damaged is called, if set, when the engine needs a missing file, when the disk has no space for a mandatory write
	// (NoRoom), and with an ErrSetBack when a leader knows about more confirmed entries than this host has. The engine
	// stops the process as soon as Damaged returns, and names no file.
	Damaged func(error)

	// Metrics makes the engine write its own series (about eight per shard) to the default set in
	// github.com/VictoriaMetrics/metrics.
	Metrics bool
	// Logger gets all messages. The engine has one logger per process: with several hosts in one process, the last
	// opened host's logger. Default slog.Default().
	Logger *slog.Logger
}

// Validate returns an error that describes the first mistake in the config. It reads no files.
func (c Config) Validate() error {
	c = c.withDefaults()
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
	}
	if c.Host == 0 || c.Host > MaxHostID {
		return bad("host id %d: want 1 to %d", c.Host, uint64(MaxHostID))
	}
	if c.Incarnation == (hosts.Incarnation{}) {
		return bad("no incarnation")
	}
	if c.DataDir == "" {
		return bad("no data directory")
	}
	if err := c.validateInitialMembers(); err != nil {
		return err
	}
	if c.Tick < minTick || c.Tick > maxTick || c.Tick%time.Millisecond != 0 {
		return bad("tick %v: want whole milliseconds from %v to %v", c.Tick, minTick, maxTick)
	}
	if c.HeartbeatTicks < 1 || c.ElectionTicks <= 2*c.HeartbeatTicks {
		return bad("heartbeat every %d ticks, election after %d: want an election after more than two heartbeats",
			c.HeartbeatTicks, c.ElectionTicks)
	}
	if c.ProposalTimeout < c.election() || c.BarrierTimeout < c.election() {
		return bad("proposal timeout %v, barrier timeout %v: want at least the time of an election, %v",
			c.ProposalTimeout, c.BarrierTimeout, c.election())
	}
	if c.MaxInFlight < 1 || c.MaxInFlight > 1024 {
		return bad("%d batches in flight: want 1 to 1024", c.MaxInFlight)
	}
	if c.MaxInFlightBytes < 1 {
		return bad("%d bytes in flight: want at least 1", c.MaxInFlightBytes)
	}
	if c.SnapshotBytes < 0 || c.KeepBytes < 1 {
		return bad("a snapshot every %d bytes, %d kept: want at least 0 and 1", c.SnapshotBytes, c.KeepBytes)
	}
	if c.Workers < 0 || c.Workers > MaxWorkers {
		return bad("%d workers: want 0 to %d", c.Workers, MaxWorkers)
	}
	return nil
}

func (c Config) validateInitialMembers() error {
	if len(c.InitialMembers) > MaxInitialMembers {
		return fmt.Errorf("%w: %d initial members: want at most %d", ErrConfig, len(c.InitialMembers),
			MaxInitialMembers)
	}
	if c.Transport != nil && c.Deployment == 0 {
		return fmt.Errorf("%w: a cluster of several hosts needs a deployment id", ErrConfig)
	}
	for id := range c.InitialMembers {
		if id == 0 || id >= transport.FirstJoined {
			return fmt.Errorf("%w: initial member %d: want 1 to %d", ErrConfig, id, transport.FirstJoined-1)
		}
	}
	if own, initialMember := c.InitialMembers[c.Host]; initialMember && own != c.Incarnation {
		return fmt.Errorf("%w: initial member %d has the incarnation %s, this host %s", ErrConfig, c.Host, own,
			c.Incarnation)
	}
	if c.Transport == nil {
		return nil
	}
	if i := c.Transport.Identity(); i.Target() != c.target() || i.Deployment != c.Deployment {
		return fmt.Errorf("%w: the transport is of %v in deployment %d, the host is %v in %d", ErrConfig, i.Target(),
			i.Deployment, c.target(), c.Deployment)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.InitialMembers == nil {
		c.InitialMembers = map[shard.HostID]hosts.Incarnation{c.Host: c.Incarnation}
	}
	c.Tick = cmp.Or(c.Tick, DefaultTick)
	c.ElectionTicks = cmp.Or(c.ElectionTicks, ElectionTicks(c.Tick))
	c.HeartbeatTicks = cmp.Or(c.HeartbeatTicks, DefaultHeartbeatTicks)
	c.ProposalTimeout = cmp.Or(c.ProposalTimeout, DefaultProposalTimeout)
	c.BarrierTimeout = cmp.Or(c.BarrierTimeout, DefaultBarrierTimeout)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, DefaultMaxInFlight)
	c.MaxInFlightBytes = cmp.Or(c.MaxInFlightBytes, DefaultMaxInFlightBytes)
	c.KeepBytes = cmp.Or(c.KeepBytes, c.SnapshotBytes/keptPart, DefaultKeepBytes)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// initialIDs returns the initial members' ids, smallest first.
func (c Config) initialIDs() []shard.HostID { return slices.Sorted(maps.Keys(c.InitialMembers)) }

// target is the engine's name for this host, instead of an address.
func (c Config) target() transport.Target {
	return transport.Target{Host: c.Host, Incarnation: c.Incarnation}
}

// ElectionTicks returns the default number of ticks after which a follower without a leader stands for election, at the
// earliest: 300 ms, but at least six ticks. Each follower draws its own delay, between that number and twice the
// number.
func ElectionTicks(tick time.Duration) int {
	const least = 300 * time.Millisecond
	return max(6, int((least+tick-1)/tick))
}

// election is the minimum time before a follower stops following a silent leader.
func (c Config) election() time.Duration { return time.Duration(c.ElectionTicks) * c.Tick }
