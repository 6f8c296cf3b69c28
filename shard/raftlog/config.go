package raftlog

import (
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

// Defaults of a Config. DESIGN.md has the figures behind them.
const (
	// DefaultTick is the unit that elections and heartbeats are counted in. Every tick wakes an idle host: 50 ms take
	// half of the processor time of 20 ms, and elections are as long.
	DefaultTick = 50 * time.Millisecond
	// DefaultHeartbeatTicks lets every heartbeat but one in fifteen be lost before anything happens.
	DefaultHeartbeatTicks = 1
	// DefaultProposalTimeout is several elections long.
	DefaultProposalTimeout = 2 * time.Second
	// DefaultBarrierTimeout lets a barrier outlast the election that it meets.
	DefaultBarrierTimeout = 2 * time.Second
	// DefaultMaxInFlight is far above what one proposer with few batches in flight needs.
	DefaultMaxInFlight = 256
	// DefaultMaxInFlightBytes bounds what a shard's unfinished batches hold in memory.
	DefaultMaxInFlightBytes = 64 << 20
	// DefaultSnapshotEntries counts batches: at a hundred operations each, five million.
	DefaultSnapshotEntries = 50_000
	// DefaultKeepEntries is what a host may miss in a restart without being sent a snapshot.
	DefaultKeepEntries = 10_000
	// DefaultSnapshotBytes and DefaultKeepBytes bound what a small state takes on the disk.
	DefaultSnapshotBytes = 64 << 20
	DefaultKeepBytes     = 16 << 20
	// DefaultWorkers steps all shards of a host in one goroutine.
	DefaultWorkers = 1
)

// Limits of a Config.
const (
	// MaxFounders is how many hosts a cluster may begin with.
	MaxFounders = 31
	MaxHostID   = math.MaxUint32
	MaxWorkers  = 16
	// MinSecretBytes is the shortest secret: from a recorded handshake a shorter one could be guessed.
	MinSecretBytes = 16
	// MaxBatchBytes is the largest batch that can be proposed.
	MaxBatchBytes = transport.MaxBatchBytes

	minTick = time.Millisecond
	maxTick = time.Second
)

// ErrConfig is returned wrapped by Validate and Open for an invalid config.
var ErrConfig = errors.New("raftlog: bad config")

// Config is what a host needs to take part in its shards' logs. Host, Incarnation and DataDir have no default.
type Config struct {
	// Host is this host's id, 1 to MaxHostID. It never changes and is never given to another host.
	Host shard.HostID
	// Incarnation was drawn when DataDir was made. A host with another one is another host.
	Incarnation hosts.Incarnation
	// DataDir holds the log and the snapshots. It is made if it does not exist, and belongs to this incarnation and
	// this machine's host name from then on.
	DataDir string
	// Files is the file system that DataDir is on; nil: that of the operating system.
	Files *Files
	// Used says that a host was opened on DataDir before: without its record the directory is damaged.
	Used bool
	// LogEnd is up to where the log was durable when that was last noted outside of DataDir's log: a log that ends
	// before is damaged.
	LogEnd wal.End
	// Confirmed is what other hosts had confirmed when that was last noted.
	Confirmed []Confirmed
	// Founders are the hosts that the cluster began with, by id, below transport.FirstJoined. They are part of the
	// replicated log. A host that is not among them has joined later. Default: this host alone.
	Founders map[shard.HostID]hosts.Incarnation
	// Deployment is derived from the cluster's id: hosts of different deployments refuse each other's
	// messages, which keeps mistakes apart but no attackers. Not zero where there are other hosts.
	Deployment uint64

	// Transport is how other hosts are reached; it has the identity of this one, and is closed after the host. Where it
	// is nil, no other host is reached, now or later.
	Transport *transport.Transport

	// Tick, ElectionTicks, HeartbeatTicks: a leader sends heartbeats every HeartbeatTicks, a follower that received
	// none for ElectionTicks to twice as many tries to become the leader, and a leader that no majority answered for
	// ElectionTicks steps down. The same on all hosts.
	Tick           time.Duration
	ElectionTicks  int
	HeartbeatTicks int

	// ProposalTimeout ends a batch that is not applied by then as shard.OutcomeUnknown.
	ProposalTimeout time.Duration
	// BarrierTimeout ends a barrier with shard.ErrNoQuorum. It is noticed up to a third later.
	BarrierTimeout time.Duration
	// MaxInFlight and MaxInFlightBytes bound the batches of one shard whose outcome is not known yet.
	// Beyond them Propose returns shard.ErrLogBusy.
	MaxInFlight      int
	MaxInFlightBytes int

	// SnapshotEntries and SnapshotBytes are after how many batches, and after how many bytes of them, a replica saves a
	// snapshot and drops the log before it; where the last snapshot has more bytes, after as many. They bound what a
	// restart must apply again, and what the log needs on disk.
	SnapshotEntries int
	SnapshotBytes   int64
	// KeepEntries and KeepBytes are how many batches before a snapshot, and how many bytes of them, stay in the log for
	// followers that lag: whichever is less.
	KeepEntries int
	KeepBytes   int64

	// Workers is how many goroutines step the shards. All shards of one stand still while it syncs; workers that save
	// at the same time share a sync. It is fixed when the data directory is first used.
	Workers int

	// Room, if set, returns why the disk has no room for so many bytes more of what can be done without: a snapshot,
	// which is given up or not taken then. It is called now and then while one is saved.
	Room func(bytes uint64) error
	// Full, if set, returns why this host is to take no more of the log from others, and is not to lead where another
	// one can: its disk is nearly full. It is called for every message.
	Full func() error

	// Synced is called, if set, with the duration of each sync of a log file. It must not block.
	Synced func(time.Duration)

	// Transfers is notified, if set, of the snapshots that hosts send each other.
	Transfers Transfers
	// Relieve, if set, gives back what is held of the disk's room, for what must be written. It must not block.
	Relieve func()
	// Damaged is called, if set, with a file that is missing when the engine needs it, and where the disk has no room
	// for what must be written (NoRoom), and with an ErrSetBack where a leader knows that this host has confirmed more
	// than it has. The engine stops the process as soon as Damaged returns, and names no file.
	Damaged func(error)

	// Metrics makes the engine write its own series (about eight a shard) to the default set of
	// github.com/VictoriaMetrics/metrics.
	Metrics bool
	// Logger gets all messages. The engine has one logger per process: with several hosts in one process it is that of
	// the host opened last. Default slog.Default().
	Logger *slog.Logger
}

// Validate returns an error that says what is wrong with the config, if something is. It reads no files.
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
	if err := c.validateFounders(); err != nil {
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
	if c.SnapshotEntries < 1 || c.KeepEntries < 1 {
		return bad("a snapshot every %d entries, %d kept: want at least 1 of each", c.SnapshotEntries, c.KeepEntries)
	}
	if c.SnapshotBytes < 1 || c.KeepBytes < 1 {
		return bad("a snapshot every %d bytes, %d kept: want at least 1 of each", c.SnapshotBytes, c.KeepBytes)
	}
	if c.Workers < 1 || c.Workers > MaxWorkers {
		return bad("%d workers: want 1 to %d", c.Workers, MaxWorkers)
	}
	return nil
}

func (c Config) validateFounders() error {
	if len(c.Founders) > MaxFounders {
		return fmt.Errorf("%w: %d founders: want at most %d", ErrConfig, len(c.Founders), MaxFounders)
	}
	if c.Transport != nil && c.Deployment == 0 {
		return fmt.Errorf("%w: a cluster of several hosts needs a deployment id", ErrConfig)
	}
	for id := range c.Founders {
		if id == 0 || id >= transport.FirstJoined {
			return fmt.Errorf("%w: founder %d: want 1 to %d", ErrConfig, id, transport.FirstJoined-1)
		}
	}
	if own, founder := c.Founders[c.Host]; founder && own != c.Incarnation {
		return fmt.Errorf("%w: founder %d has the incarnation %s, this host %s", ErrConfig, c.Host, own, c.Incarnation)
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
	if c.Founders == nil {
		c.Founders = map[shard.HostID]hosts.Incarnation{c.Host: c.Incarnation}
	}
	setDefault(&c.Tick, DefaultTick)
	setDefault(&c.ElectionTicks, ElectionTicks(c.Tick))
	setDefault(&c.HeartbeatTicks, DefaultHeartbeatTicks)
	setDefault(&c.ProposalTimeout, DefaultProposalTimeout)
	setDefault(&c.BarrierTimeout, DefaultBarrierTimeout)
	setDefault(&c.MaxInFlight, DefaultMaxInFlight)
	setDefault(&c.MaxInFlightBytes, DefaultMaxInFlightBytes)
	setDefault(&c.SnapshotEntries, DefaultSnapshotEntries)
	setDefault(&c.KeepEntries, DefaultKeepEntries)
	setDefault(&c.SnapshotBytes, DefaultSnapshotBytes)
	setDefault(&c.KeepBytes, DefaultKeepBytes)
	setDefault(&c.Workers, DefaultWorkers)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// founderIDs returns the founders' ids, smallest first.
func (c Config) founderIDs() []shard.HostID { return slices.Sorted(maps.Keys(c.Founders)) }

// target is what the engine has instead of an address of this host.
func (c Config) target() transport.Target {
	return transport.Target{Host: c.Host, Incarnation: c.Incarnation}
}

// ElectionTicks returns the default number of ticks after which a follower without a leader stands for election, at the
// earliest: 300 ms, and never under six ticks, from as many of which each follower draws.
func ElectionTicks(tick time.Duration) int {
	const least = 300 * time.Millisecond
	return max(6, int((least+tick-1)/tick))
}

// election is the shortest time after which a follower gives up a silent leader.
func (c Config) election() time.Duration { return time.Duration(c.ElectionTicks) * c.Tick }
