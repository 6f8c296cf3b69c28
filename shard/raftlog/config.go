package raftlog

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Defaults of a Config. DESIGN.md has the figures behind them.
const (
	// DefaultAddress is where a host that has no other members listens.
	DefaultAddress = "127.0.0.1:7421"
	// DefaultTick is the unit that elections and heartbeats are counted in.
	DefaultTick = 20 * time.Millisecond
	// DefaultElectionTicks makes a follower that heard of no leader wait 300 to 600 ms.
	DefaultElectionTicks = 15
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
	MaxHosts   = transport.MaxHosts
	MaxHostID  = math.MaxUint32
	MaxWorkers = 16
	// MinSecretBytes is the shortest secret: from a recorded handshake a shorter one could be guessed.
	MinSecretBytes = 16
	// MaxBatchBytes is the largest batch that can be proposed.
	MaxBatchBytes = transport.MaxBatchBytes

	minTick = time.Millisecond
	maxTick = time.Second
)

// ErrConfig is returned wrapped by Validate and Open for an invalid config.
var ErrConfig = errors.New("raftlog: bad config")

// Config is what a host needs to take part in its shards' logs. Host and DataDir have no default.
type Config struct {
	// Host is this host's id, 1 to MaxHostID. It never changes and is never given to another host.
	Host shard.HostID
	// DataDir holds the log and the snapshots. It is made if it does not exist, and belongs to this host, this cluster,
	// this address and this machine's host name from then on.
	DataDir string
	// Used says that a host was opened on DataDir before: without its record the directory is damaged.
	Used bool
	// Members are all hosts, this one among them, with the addresses (host:port) at which they reach
	// each other. The addresses become part of the replicated log, so give names that last. Default:
	// this host alone, at DefaultAddress.
	Members map[shard.HostID]string
	// Deployment is derived from the cluster's id: hosts of different deployments refuse each other's
	// messages, which keeps mistakes apart but no attackers. Not zero where there are other members.
	Deployment uint64

	// ListenAddress is what this host listens on where that is not its address in Members. A host that is the only
	// member listens on nothing.
	ListenAddress string
	// TLS is used between hosts where set. Its files are read when a host opens.
	TLS *transport.TLS
	// Secret is shared by all hosts and known to no other program, and has at least MinSecretBytes. Every frame between
	// hosts has a MAC under a key that is drawn from it. With neither a secret nor TLS any program that reaches the
	// port can write to the log.
	Secret []byte

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
	// Damaged is called, if set, with a file that is missing when the engine needs it. The engine stops the process as
	// soon as it returns, without the name of the file.
	Damaged func(error)
	// Refused is called, if set, for everything that came over connections between hosts and was kept from the engine.
	// It must not block, and is called from many goroutines.
	Refused func(transport.Refusal)

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
	if c.DataDir == "" {
		return bad("no data directory")
	}
	if err := c.validateMembers(); err != nil {
		return err
	}
	if t := c.TLS; t != nil && (t.CAFile == "" || t.CertFile == "" || t.KeyFile == "") {
		return bad("TLS needs all of CA file, certificate file and key file")
	}
	if n := len(c.Secret); n > 0 && n < MinSecretBytes {
		return bad("a secret of %d bytes: want at least %d", n, MinSecretBytes)
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

func (c Config) validateMembers() error {
	if len(c.Members) > MaxHosts {
		return fmt.Errorf("%w: %d members: want at most %d", ErrConfig, len(c.Members), MaxHosts)
	}
	if _, ok := c.Members[c.Host]; !ok {
		return fmt.Errorf("%w: host %d is not among the members", ErrConfig, c.Host)
	}
	if len(c.Members) > 1 && c.Deployment == 0 {
		return fmt.Errorf("%w: a cluster of several hosts needs a deployment id", ErrConfig)
	}
	addresses := make(map[string]shard.HostID, len(c.Members))
	for _, id := range c.memberIDs() {
		if id == 0 || id > MaxHostID {
			return fmt.Errorf("%w: member id %d: want 1 to %d", ErrConfig, id, uint64(MaxHostID))
		}
		address := c.Members[id]
		if err := transport.ValidateAddress(address); err != nil {
			return fmt.Errorf("%w: member %d: %w", ErrConfig, id, err)
		}
		if other, taken := addresses[address]; taken {
			return fmt.Errorf("%w: members %d and %d have the same address %q", ErrConfig, other, id, address)
		}
		addresses[address] = id
	}
	if c.ListenAddress != "" {
		if err := transport.ValidateAddress(c.ListenAddress); err != nil {
			return fmt.Errorf("%w: listen address: %w", ErrConfig, err)
		}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Members == nil {
		c.Members = map[shard.HostID]string{c.Host: DefaultAddress}
	}
	setDefault(&c.Tick, DefaultTick)
	setDefault(&c.ElectionTicks, DefaultElectionTicks)
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

// memberIDs returns the members' ids, smallest first.
func (c Config) memberIDs() []shard.HostID {
	ids := make([]shard.HostID, 0, len(c.Members))
	for id := range c.Members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// address is the address of this host in Members.
func (c Config) address() string { return c.Members[c.Host] }

// listenAddress is where this host is reached.
func (c Config) listenAddress() string {
	if c.ListenAddress != "" {
		return c.ListenAddress
	}
	return c.address()
}

// alone reports whether this host is the only member, so that no other one ever connects.
func (c Config) alone() bool { return len(c.Members) == 1 }

// election is the shortest time after which a follower gives up a silent leader.
func (c Config) election() time.Duration { return time.Duration(c.ElectionTicks) * c.Tick }
