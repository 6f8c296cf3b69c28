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

// Config is the configuration of a host. Logs opens the logs, so a host runs on dragonboat as well as on a log in
// memory.
type Config struct {
	ID   shard.HostID // not zero
	Name string
	// Cluster is the id that distinguishes clusters. All hosts must have an equal id.
	Cluster string
	// ClientAddress is this host's address for clients, as shown by hosts and the routing.
	ClientAddress string
	RaftAddress   string
	AdminAddress  string
	Version       string
	// Level is the highest feature level that the host claims to follow. Zero means level.Newest, the highest level
	// of this build.
	Level level.Level
	// Incarnation is the incarnation of the host's data directory, Start is this start on the directory. Both are not
	// zero.
	Incarnation hosts.Incarnation
	Start       hosts.Start
	// Domain is where the host stands. It counts if the host's record has no domain.
	Domain hosts.Domain
	// Hosts are the ids of all hosts of the cluster, as far as known without their records.
	Hosts []shard.HostID
	// InitialMembers are the incarnations of the hosts that the cluster began with, as far as known.
	InitialMembers map[shard.HostID]hosts.Incarnation
	// Shards is the number of data shards. It never changes in a cluster.
	Shards int
	// Logs opens this host's end of a shard's log. Shard 0 is the meta shard, data shards count from 1. It fails with
	// shard.ErrNotMember if the host has no replica of the shard.
	Logs func(id uint64, sm shard.StateMachine) (shard.Log, error)
	// Replicas has the logs of replicas that come while the host runs. Nil: no replicas come.
	Replicas replica.Replicas
	// Calls reaches other hosts, whose Host.Answer answers. Nil: no host is reached.
	Calls executor.Calls
	// Rejoin is called after the host stood still: it returns when other hosts have had a moment to refuse this one,
	// which ends it then. Nil: no host refuses another.
	Rejoin func()
	// Leads is called when this host has begun to lead a shard, or leads a shard in a later term: Host.Led has the
	// shards. The function must not block. May be nil.
	Leads func()
	// HostsChanged gets the records of all hosts, once there are records and after every change: from then on hosts
	// are reached, and let in, by their records. One goroutine calls HostsChanged, and may wait for the disk. May be
	// nil.
	HostsChanged func(*hosts.Records)

	// Limits are the limits in WELCOME. Zero fields have defaults.
	Limits protocol.Limits
	// PendingBytes is how much may wait to be sent over all connections together. Zero stands for
	// DefaultPendingBytes.
	PendingBytes uint64
	// PartialBytes is how much may be held of frames that have arrived in part, over all connections together. Zero
	// stands for DefaultPartialBytes.
	PartialBytes uint64
	// WatchBytes is how much memory the open watches of all connections may hold. Zero stands for DefaultWatchBytes.
	WatchBytes uint64
	// QueuedBytes is how much may wait for the next batches of one shard. Zero stands for pipeline.DefaultQueuedBytes.
	QueuedBytes uint64
	// ShardObjects and ShardBytes are the quotas of each data shard that this host leads: how many objects the shard
	// may have, and how many bytes. Zero stands for shard.DefaultShardObjects and shard.DefaultShardBytes. The
	// leader's quota of objects counts, and of the quotas of bytes the least of the hosts with a replica.
	ShardObjects uint64
	ShardBytes   uint64
	// PingInterval is how often a silent client must ping at the least. Zero means 10 seconds.
	PingInterval time.Duration
	// AcquireDelay is how long an acquire that will be queued, or a command of a member of a process from which
	// nothing follows without other members, may wait for further commands in the log. Zero means DefaultAcquireDelay;
	// below zero the acquire does not wait, for tests of queues.
	AcquireDelay time.Duration
	// Guard returns why this host must refuse writes at the moment, nil if it need not: its disk is nearly full. May
	// be nil.
	Guard func() error
	// Memory returns why this host must refuse what grows at the moment, a shard.ErrMemoryFull, nil if it need not.
	// May be nil.
	Memory func() error
	// Fits returns why the memory of this host does not hold another state of so many bytes, in the measure of quotas,
	// nil if it does. May be nil.
	Fits func(bytes uint64) error
	// Own returns the process's observations of the host for the list of health issues. May be nil.
	Own func() health.Own
	// NotesNodes: the history of the cluster has the nodes created, altered and dropped through this host.
	NotesNodes bool
	// DigestInterval is the time between two checks of a shard for replicas that differ. Zero means ten minutes.
	DigestInterval time.Duration
	// Halt is called when the host cannot go on: its replica of a shard differs from the others, or would. Halt
	// should end the process with the error, since the log stops feeding the replica. May be nil.
	Halt func(error)
	// Access has the root tokens of this host, which the rules of the cluster do not limit. May be nil.
	Access caller.Access
	// Closed: the cluster was bootstrapped closed.
	Closed bool
	// AccessRules are imported while the cluster has no access rules. The leader of the meta shard imports its own, so
	// all initial members need the same rules. May be nil.
	AccessRules *meta.AccessImport
	// Authority returns the SHA-256 of the certificate by which hosts recognise each other, or of the authority's
	// certificate, nil for hosts without TLS. New hosts need the hash. May be nil.
	Authority func() []byte
	// SyncTime returns how long a sync of the log to the disk takes; nil: not known.
	SyncTime func() time.Duration
	// LogSyncs are shown among the metrics. May be nil.
	LogSyncs *metrics.Histogram
	// LogSnapshots are shown there, too. May be nil.
	LogSnapshots *SnapshotTransfers
	// Log is written to with locks held, so the handler must not wait for anything that may block, such as a pipe
	// without a reader. Nil means no log.
	Log *slog.Logger
	// Clock is the host's time for judging leases, in place of time.Now: in a simulation the hosts' clocks run at
	// different speeds. It must have a monotonic reading. Nil otherwise.
	Clock func() time.Time
	// Apart, for tests: a copy of a shard that this host does not lead says nothing about sessions, as if the host
	// had no copy.
	Apart bool
	// NextAlarm, if a test sets it, says instead of the machine when an alarm is due in a data shard.
	NextAlarm func(id uint64, m *machine.Machine) (at uint64, ok bool)
}

const (
	// DefaultPingInterval is the ping interval if Config has none.
	DefaultPingInterval = 10 * time.Second
	// DefaultAcquireDelay is long enough for a client on the same network to learn of its ownership and to release.
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
	refuse(c.ID == 0, "the host has no id")
	refuse(c.Name == "" || len(c.Name) > protocol.MaxHostNameBytes, "the host's name %q must have 1 to %d bytes",
		c.Name, protocol.MaxHostNameBytes)
	refuse(c.Incarnation == (hosts.Incarnation{}) || c.Start.Number == 0,
		"the host has no incarnation, or its start no number")
	refuse(c.Shards < 1 || c.Shards > MaxShards, "%d data shards: there may be 1 to %d", c.Shards, MaxShards)
	refuse(c.Logs == nil, "no logs to open")
	limits := protocol.FrameLimits(cmp.Or(c.Limits.DataBytes, protocol.DefaultDataBytes))
	limits.RequestsInFlight = cmp.Or(c.Limits.RequestsInFlight, DefaultRequestsInFlight)
	limits.Watches = cmp.Or(c.Limits.Watches, DefaultWatches)
	c.Limits = limits
	refuse(limits.DataBytes > protocol.MaxDataBytes, "data of %d bytes: at most %d are possible", limits.DataBytes,
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
	// MaxShards is the greatest number of data shards in a cluster.
	MaxShards = 64
	// DefaultRequestsInFlight and DefaultWatches are the limits on one connection.
	DefaultRequestsInFlight = 16_384
	DefaultWatches          = 65_536 // see DefaultRequestsInFlight
	// DefaultPendingBytes is the limit on the bytes that wait to be sent over all connections.
	DefaultPendingBytes = 512 << 20
	// DefaultPartialBytes is the limit on the bytes of frames that have arrived in part.
	DefaultPartialBytes = 64 << 20
	// DefaultWatchBytes is the limit on the memory of all open watches: some 690,000 with short names.
	DefaultWatchBytes = 512 << 20
)
