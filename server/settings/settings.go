package settings

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Settings are the configuration of a host. Defaults returns the defaults, Load fills them from flags, environment and
// file, and Complete checks those that a program has made.
//
// A listener that is not wanted has the address Off.
type Settings struct {
	// Name is that of this host among Hosts. It never changes for a data directory.
	Name string `yaml:"name"`
	// DataDir holds all that the host must not forget. It belongs to this host alone.
	DataDir string `yaml:"data-dir"`
	// Hosts are the first hosts of the cluster, the same on all of them, with the addresses at which
	// they reach each other. Empty means this host alone.
	Hosts []FirstHost `yaml:"hosts"`
	// Cluster is a name for the cluster, so that two clusters made of the same hosts, one after the other, differ. The
	// same on all hosts, and never changed.
	Cluster string `yaml:"cluster"`
	// Join are Raft addresses of hosts in the cluster to join. Join counts only while the data directory belongs to no
	// cluster.
	Join []string `yaml:"join"`
	// Replace names the lost host that this host replaces when joining, empty for none.
	Replace string `yaml:"replace"`
	// JoinToken is the file of the join token by which this host shows that it may join, or the token itself.
	JoinToken string `yaml:"join-token"`
	// FailureDomain is where the host stands, as KEY=VALUE with commas between them: what fails together shares a
	// value.
	FailureDomain string `yaml:"failure-domain"`
	// Shards is the number of data shards, fixed when the cluster is born. Zero means the number that the
	// data directory has, and DefaultShards for a new one.
	Shards int `yaml:"shards"`

	// Listen is where clients connect without TLS.
	Listen string `yaml:"listen"`
	// TLSListen is where clients connect with TLS.
	TLSListen string `yaml:"tls-listen"`
	// ClientAdvertise is the address at which clients reach this host.
	ClientAdvertise string `yaml:"client-advertise"`
	// TLSCert and TLSKey are the certificate of TLSListen with its key, PEM. They are read again when
	// they change.
	TLSCert string `yaml:"tls-cert"`
	TLSKey  string `yaml:"tls-key"`
	// TLSClientCA makes clients of TLSListen show a certificate that an authority in this file signed.
	TLSClientCA string `yaml:"tls-client-ca"`
	// TokenFile is the file of access tokens. Without it a client needs none and may do everything.
	TokenFile string `yaml:"token-file"`

	// RaftListen is where other hosts connect. Without RaftListen and without a list of hosts, no other host can
	// connect.
	RaftListen string `yaml:"raft-listen"`
	// RaftAdvertise is the address at which the other hosts reach this host. With a list of hosts, RaftAdvertise must
	// be the listed address. If RaftListen is Off, RaftAdvertise is empty.
	RaftAdvertise string `yaml:"raft-advertise"`
	// RaftTLSCert, RaftTLSKey and RaftTLSCA make hosts authenticate to each other, both ways.
	RaftTLSCert string `yaml:"raft-tls-cert"`
	RaftTLSKey  string `yaml:"raft-tls-key"`
	RaftTLSCA   string `yaml:"raft-tls-ca"`
	// RaftSecretFile holds a secret that only the hosts of the cluster know. Without TLS the secret keeps strangers
	// from writing to the log.
	RaftSecretFile string `yaml:"raft-secret-file"`
	// RaftTick is how often a leader calls the other hosts. A host tries to lead after a silence of 6 to 12 ticks, and
	// of 300 ms at least. The same on all hosts.
	RaftTick time.Duration `yaml:"raft-tick"`
	// RaftSnapshotBatches is after how many batches of its log a shard saves a snapshot and drops what
	// the log has before it, but for a fifth of as many.
	RaftSnapshotBatches int `yaml:"raft-snapshot-batches"`
	// RaftSnapshotBytes is after how many bytes of its log a shard does so, where those are fewer batches.
	RaftSnapshotBytes Size `yaml:"raft-snapshot-bytes"`
	// RaftMetrics adds the series of the Raft engine to the metrics.
	RaftMetrics bool `yaml:"raft-metrics"`

	// AdminListen is where health, metrics and status are served over HTTP.
	AdminListen string `yaml:"admin-listen"`
	// HTTPListen is where the HTTP API is served. It is for programs that compose a host with a gateway, as signalbox
	// serve does: a host by itself serves none.
	HTTPListen string `yaml:"http-listen"`
	// HTTPCA has the authorities by which a gateway knows other hosts over TLS; empty for those of the system.
	HTTPCA string `yaml:"http-ca"`
	// ConsoleActions lets browsers change something there without a token.
	ConsoleActions bool `yaml:"console-actions"`
	// HTTPNames are names that the host may be asked for by over HTTP, besides those of its own addresses.
	HTTPNames []string `yaml:"http-names"`
	// HTTPTrustedProxies are those that may name the addresses of their clients there.
	HTTPTrustedProxies []netip.Prefix `yaml:"http-trusted-proxies"`
	// Pprof serves the Go profiler there as well.
	Pprof bool `yaml:"pprof"`

	// DataLimit is the most bytes that the data of a semaphore, an owner or a waiter may have.
	DataLimit Size `yaml:"data-limit"`
	// Connections is how many client connections there may be. Zero derives it from the limit of open
	// files.
	Connections int `yaml:"connections"`
	// RequestsInFlight is how many requests of one connection may be unanswered.
	RequestsInFlight int `yaml:"requests-in-flight"`
	// Watches is how many watches may be open on one connection.
	Watches int `yaml:"watches"`
	// PendingLimit is how much may wait to be sent over all connections together.
	PendingLimit Size `yaml:"pending-limit"`
	// WatchMemory is how much memory the open watches of all connections may hold.
	WatchMemory Size `yaml:"watch-memory"`
	// PartialLimit is how much may be held of requests that have arrived in part, over all connections together.
	PartialLimit Size `yaml:"partial-limit"`
	// ShardObjects and ShardBytes are the quotas of each data shard, over all nodes. Those of its leader count.
	ShardObjects int  `yaml:"shard-objects"`
	ShardBytes   Size `yaml:"shard-bytes"`
	// PingInterval is how often an idle client must ping. One that was silent for three of them is disconnected.
	PingInterval time.Duration `yaml:"ping-interval"`
	// MinFreeDisk is how many bytes of the data directory's file system must be free for the host to
	// accept changes. Zero derives it from the size of the file system.
	MinFreeDisk Size `yaml:"min-free-disk"`

	// LogFormat is FormatText or FormatJSON.
	LogFormat string `yaml:"log-format"`
	// LogLevel is the least that is logged.
	LogLevel slog.Level `yaml:"log-level"`

	// Insecure names what may be reached over a network without protection.
	Insecure Parts `yaml:"insecure"`

	// AnyPort allows port 0, any that is free, for the listeners of clients and of the admin pages. It is for programs
	// that embed a host and ask it for its addresses; no flag and no line of a file sets it.
	AnyPort bool `yaml:"-"`

	// alone: no list of hosts was given, so this host makes the cluster.
	alone bool
	// httpByDefault: nothing was said about HTTPListen.
	httpByDefault bool
	// origins are where settings were given, by name.
	origins map[string]string
	// warnings are what is allowed and probably not meant: those of the sources, and those of the checks.
	sourceWarnings, warnings []string
}

// The defaults.
const (
	DefaultName        = "signalbox"
	DefaultDataDir     = "signalbox-data"
	DefaultListen      = "127.0.0.1:7420"
	DefaultRaftListen  = "127.0.0.1:7421"
	DefaultAdminListen = "127.0.0.1:7422"
	DefaultHTTPListen  = "127.0.0.1:7424"

	// DefaultShards is the number of data shards of a new cluster. Every further shard costs a small
	// cluster speed, because fewer operations share an fsync and a message between hosts. Measured on two
	// processors with 512 callers, client included: one host does 79,000 lock cycles a second with one
	// shard, and 30,000 to 75,000 with four. With processors to spare, and several hosts to share the
	// work, give more at the birth of a cluster.
	DefaultShards = 1

	DefaultRequestsInFlight = 16_384
	DefaultWatches          = 65_536
	DefaultPendingLimit     = 512 << 20
	DefaultPartialLimit     = 64 << 20
	DefaultWatchMemory      = 512 << 20
	DefaultShardObjects     = shard.DefaultShardObjects
	DefaultShardBytes       = shard.DefaultShardBytes
	DefaultPingInterval     = 10 * time.Second
	DefaultRaftTick         = 50 * time.Millisecond

	// DefaultRaftSnapshotBatches is that of the log: see raftlog.DefaultSnapshotEntries.
	DefaultRaftSnapshotBatches = 50_000
	// DefaultRaftSnapshotBytes is that of the log: see raftlog.DefaultSnapshotBytes.
	DefaultRaftSnapshotBytes = 64 << 20
)

// Off is the address of a listener that is not wanted.
const Off = "off"

const (
	// FormatText is a log of lines for people.
	FormatText = "text"
	// FormatJSON is a log of lines for programs.
	FormatJSON = "json"
)

// Defaults returns the default settings. What depends on other settings is still empty.
func Defaults() Settings {
	return Settings{
		DataDir:             DefaultDataDir,
		AdminListen:         DefaultAdminListen,
		TLSListen:           Off,
		DataLimit:           protocol.DefaultDataBytes,
		RequestsInFlight:    DefaultRequestsInFlight,
		Watches:             DefaultWatches,
		PendingLimit:        DefaultPendingLimit,
		PartialLimit:        DefaultPartialLimit,
		WatchMemory:         DefaultWatchMemory,
		ShardObjects:        DefaultShardObjects,
		ShardBytes:          DefaultShardBytes,
		PingInterval:        DefaultPingInterval,
		RaftTick:            DefaultRaftTick,
		LogFormat:           FormatText,
		LogLevel:            slog.LevelInfo,
		RaftSnapshotBatches: DefaultRaftSnapshotBatches,
		RaftSnapshotBytes:   DefaultRaftSnapshotBytes,
	}
}

// HasPeers reports whether there are other hosts in the list.
func (s *Settings) HasPeers() bool { return len(s.Hosts) > 1 }

// HasList reports whether a list of hosts was given.
func (s *Settings) HasList() bool { return !s.alone }

// Joins reports whether the host is to join a cluster that is there.
func (s *Settings) Joins() bool { return len(s.Join) > 0 }

// ServesHosts reports whether other hosts may connect.
func (s *Settings) ServesHosts() bool { return listens(s.RaftListen) }

// IsLocal reports whether the host is alone on its machine: no other host can reach it, and clients only from there. An
// empty directory is made into a cluster by itself then, since no other one can be taken for it.
func (s *Settings) IsLocal() bool {
	for _, address := range []string{s.Listen, s.TLSListen, s.AdminListen, s.HTTPListen} {
		if listens(address) && !isLoopback(address) {
			return false
		}
	}
	return s.alone && !s.ServesHosts()
}

// Warnings are what is allowed and probably not meant. They are known after Load and Complete.
func (s *Settings) Warnings() []string { return slices.Concat(s.sourceWarnings, s.warnings) }

// ServesPlain reports whether clients may connect without TLS.
func (s *Settings) ServesPlain() bool { return listens(s.Listen) }

// ServesTLS reports whether clients may connect with TLS.
func (s *Settings) ServesTLS() bool { return listens(s.TLSListen) }

// ServesAdmin reports whether there is a listener for health, metrics and status.
func (s *Settings) ServesAdmin() bool { return listens(s.AdminListen) }

// ServesHTTP reports whether there is a listener for the HTTP API.
func (s *Settings) ServesHTTP() bool { return listens(s.HTTPListen) }

// WantsHTTP reports whether a listener for the HTTP API was asked for, so that a host without it must not go on.
func (s *Settings) WantsHTTP() bool { return s.ServesHTTP() && !s.httpByDefault }

func listens(address string) bool { return address != "" && address != Off }
