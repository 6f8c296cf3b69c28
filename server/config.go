package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/health"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// Config configures a host. Logs opens the logs, so a host runs with dragonboat or with a log in memory.
type Config struct {
	ID   shard.HostID // not zero
	Name string
	// Cluster is the id that distinguishes clusters. Cluster must be equal on all hosts.
	Cluster string
	// ClientAddress is the host's address for clients, as reported by hosts and the routing.
	ClientAddress string
	RaftAddress   string
	AdminAddress  string
	Version       string
	// Level is the highest feature level the host claims to support. 0 means level.Newest, the build's highest level.
	Level level.Level
	// Incarnation identifies the host's data directory; Start is the current start with the directory. Neither is
	// zero.
	Incarnation hosts.Incarnation
	Start       hosts.Start
	// Domain is the host's failure domain. Domain is used if the host's record has no domain.
	Domain hosts.Domain
	// Hosts are the ids of all hosts in the cluster, as far as known without their records.
	Hosts []shard.HostID
	// InitialMembers are the incarnations of the cluster's initial hosts, as far as known.
	InitialMembers map[shard.HostID]hosts.Incarnation
	// Shards is the number of data shards that the cluster was created with.
	Shards int
	// Logs opens the host's end of a shard's log. Shard 0 is the meta shard; data shard ids start at 1. Logs fails
	// with shard.ErrNotMember if the host has no replica of the shard.
	Logs func(id uint64, sm shard.StateMachine) (shard.Log, error)
	// Replicas provides the logs for replicas that are added while the host runs. nil means that none are added.
	Replicas replica.Replicas
	// Calls makes calls to remote hosts, whose Host.Answer answers. nil means that no host can be called.
	Calls executor.Calls
	// Rejoin is called after the host was stalled. Rejoin returns after remote hosts have had time to refuse the
	// host, which would then stop. nil means that no host refuses another.
	Rejoin func()
	// Leads is called when the host has begun to lead a shard, or leads a shard in a later term: Host.Led returns the
	// shards. The function must not block. May be nil.
	Leads func()
	// HostsChanged receives the records of all hosts as soon as there are any, and after every change: from then on,
	// hosts are contacted and admitted according to their records. One goroutine calls HostsChanged, which may wait
	// for the disk. May be nil.
	HostsChanged func(*hosts.Records)

	// Limits are the limits in WELCOME. Zero fields have defaults.
	Limits protocol.Limits
	// PendingBytes is the maximum number of unsent bytes over all connections. 0 means DefaultPendingBytes.
	PendingBytes uint64
	// PartialBytes is the maximum number of bytes held for partially received frames over all connections. 0 means
	// DefaultPartialBytes.
	PartialBytes uint64
	// WatchBytes is the maximum memory for open watches over all connections. 0 means DefaultWatchBytes.
	WatchBytes uint64
	// QueuedBytes is the maximum number of bytes that wait for one shard's next batches. 0 means
	// pipeline.DefaultQueuedBytes.
	QueuedBytes uint64
	// ShardObjects and ShardBytes are the quotas for every data shard the host leads: the maximum numbers of objects
	// and bytes. 0 means shard.DefaultShardObjects and shard.DefaultShardBytes. The leader's object quota applies,
	// and the smallest byte quota among the hosts with a replica.
	ShardObjects uint64
	ShardBytes   uint64
	// ShardShare returns ShardBytes for a number of data shards, if all shards share the host's memory: a shard with
	// many slots has a larger quota. nil means that every shard has ShardBytes, however many shards there are.
	ShardShare func(shards int) uint64
	// PingInterval is the heartbeat interval for idle clients. 0 means 10 seconds.
	PingInterval time.Duration
	// AcquireDelay is how long further commands in the log are awaited before an acquire that will be queued, or
	// before a process member's command that has no effect without other members. 0 means DefaultAcquireDelay; a
	// negative value disables the delay, for queue tests.
	AcquireDelay time.Duration
	// Guard returns why the host must currently reject writes because its disk is nearly full, or nil. May be nil.
	Guard func() error
	// Memory returns why the host must currently reject growth, a shard.ErrMemoryFull, or nil. May be nil.
	Memory func() error
	// Fits returns an error if the host's memory cannot hold another state with the given number of quota bytes. May
	// be nil.
	Fits func(bytes uint64) error
	// Own returns the process's observations about the host, for health issues. May be nil.
	Own func() health.Own
	// NotesNodes: the audit log records nodes created, altered and dropped through the host.
	NotesNodes bool
	// DigestInterval is the interval at which a shard's replicas are checked for differences. 0 means ten minutes.
	DigestInterval time.Duration
	// Halt is called if the host cannot continue: its replica of a shard differs from the others, or would. Halt
	// should end the process with the error, because the log no longer feeds the replica. May be nil.
	Halt func(error)
	// Access contains the host's root tokens, which the cluster's rules do not limit. May be nil.
	Access caller.Access
	// Closed: the cluster was bootstrapped closed.
	Closed bool
	// AccessRules are imported while the cluster has no access rules. The meta shard leader imports its own, so all
	// initial members need the same rules. May be nil.
	AccessRules *meta.AccessImport
	// Authority returns the SHA-256 of the certificate by which hosts recognise each other, or of its authority's
	// certificate; nil for hosts without TLS. New hosts need the hash. May be nil.
	Authority func() []byte
	// LogSyncs are the log's sync times, for the metrics, the host's speed and the pace of batches. Nil: unknown, and
	// the speed is not measured.
	LogSyncs *metrics.Histogram
	// LogSnapshots is included in the metrics. May be nil.
	LogSnapshots *SnapshotTransfers
	// Log is written with locks held, so its handler must not wait for anything that may block, such as a pipe
	// without a reader. nil disables logging.
	Log *slog.Logger
	// Clock replaces time.Now as the host's time for judging leases: in a simulation, the hosts' clocks run at
	// different speeds. Its times must have a monotonic reading. Normally nil.
	Clock func() time.Time
	// Apart is for tests: a shard replica the host does not lead is ignored in session lookups, as if it did not
	// exist.
	Apart bool
	// NextAlarm, if set by a test, replaces the machine's answer to when an alarm is due in a data shard.
	NextAlarm func(id uint64, m *machine.Machine) (at uint64, ok bool)
}

const (
	// DefaultPingInterval is the ping interval if Config has none.
	DefaultPingInterval = 10 * time.Second
	// DefaultAcquireDelay is long enough for a client on the same network to learn about its ownership and to
	// release.
	DefaultAcquireDelay = time.Millisecond
)

// withDefaults checks the config and fills in the defaults.
func (c Config) withDefaults() (Config, error) {
	var bad []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			bad = append(bad, fmt.Errorf(format, args...))
		}
	}
	refuse(c.ID == 0, "the host id is missing")
	refuse(c.Name == "" || len(c.Name) > protocol.MaxHostNameBytes, "the host name %q must have 1 to %d bytes",
		c.Name, protocol.MaxHostNameBytes)
	refuse(c.Incarnation == (hosts.Incarnation{}) || c.Start.Number == 0,
		"the incarnation or the start number is missing")
	refuse(c.Shards < 1 || c.Shards > MaxShards, "the number of data shards is %d, but must be 1 to "+
		"%d", c.Shards, MaxShards)
	refuse(c.Logs == nil, "no logs to open")
	limits := protocol.FrameLimits(cmp.Or(c.Limits.DataBytes, protocol.DefaultDataBytes))
	limits.RequestsInFlight = cmp.Or(c.Limits.RequestsInFlight, DefaultRequestsInFlight)
	limits.Watches = cmp.Or(c.Limits.Watches, DefaultWatches)
	c.Limits = limits
	refuse(limits.DataBytes > protocol.MaxDataBytes, "the maximum data size is %d bytes, but must be at most "+
		"%d", limits.DataBytes,
		protocol.MaxDataBytes)
	c.PendingBytes = cmp.Or(c.PendingBytes, DefaultPendingBytes)
	c.PartialBytes = cmp.Or(c.PartialBytes, DefaultPartialBytes)
	c.WatchBytes = cmp.Or(c.WatchBytes, DefaultWatchBytes)
	c.PingInterval = cmp.Or(c.PingInterval, DefaultPingInterval)
	c.AcquireDelay = cmp.Or(c.AcquireDelay, DefaultAcquireDelay)
	c.DigestInterval = cmp.Or(c.DigestInterval, replica.DigestInterval)
	c.Level = cmp.Or(c.Level, level.Newest)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.NewTextHandler(io.Discard, nil)))
	return c, errors.Join(bad...)
}

const (
	// MaxShards is the maximum number of data shards at a cluster's bootstrap.
	MaxShards = 64
	// DefaultRequestsInFlight and DefaultWatches are the limits per connection.
	DefaultRequestsInFlight = 16_384
	DefaultWatches          = 65_536 // see DefaultRequestsInFlight
	// DefaultPendingBytes is the limit for unsent bytes over all connections.
	DefaultPendingBytes = 512 << 20
	// DefaultPartialBytes is the limit for bytes in partially received frames.
	DefaultPartialBytes = 64 << 20
	// DefaultWatchBytes is the memory limit for all open watches: about 690,000 watches with short names.
	DefaultWatchBytes = 512 << 20
)
