package settings

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Settings are a host's configuration. Defaults returns the defaults, Load fills the settings from flags, environment
// and file, and Complete checks settings made by a program.
//
// A disabled listener has the address Off.
type Settings struct {
	// Name is the host's name in InitialHosts. Name never changes for a data directory.
	Name string `yaml:"name"`
	// DataDir is the data directory. DataDir must not be shared between hosts.
	DataDir string `yaml:"data-dir"`
	// InitialHosts are the cluster's initial members with their addresses for each other, identical on all of them.
	// Empty means that the host is alone.
	InitialHosts []InitialHost `yaml:"initial-hosts"`
	// ClusterName is the cluster name. ClusterName distinguishes two clusters created successively with the same
	// hosts. Identical on all hosts, and never changed.
	ClusterName string `yaml:"cluster-name"`
	// Join lists Raft addresses of hosts in the cluster to join. Used only while the data directory belongs to no
	// cluster.
	Join []string `yaml:"join"`
	// Replace names the lost host the local host replaces when joining, empty for none.
	Replace string `yaml:"replace"`
	// JoinTokenFile is the file with the join token that proves the host's right to join.
	JoinTokenFile string `yaml:"join-token-file"`
	// JoinToken is the token itself, as an alternative to JoinTokenFile. JoinToken can only be set by the environment
	// and by programs.
	JoinToken string `yaml:"-"`
	// FailureDomain is the host's failure domain, as comma-separated KEY=VALUE pairs: hosts that fail together share
	// a value.
	FailureDomain string `yaml:"failure-domain"`
	// Shards is the number of data shards that the cluster is created with. Shards can be added and removed later. 0
	// means the data directory's number, or DefaultShards for a new directory.
	Shards int `yaml:"shards"`

	// Listen is the address for clients without TLS.
	Listen string `yaml:"listen"`
	// TLSListen is the address for clients with TLS.
	TLSListen string `yaml:"tls-listen"`
	// Advertise is the host's address for clients.
	Advertise string `yaml:"advertise"`
	// TLSCert and TLSKey are TLSListen's certificate and key, in PEM files. The host rereads both after a change.
	TLSCert string `yaml:"tls-cert"`
	TLSKey  string `yaml:"tls-key"`
	// TLSClientCA requires TLSListen's clients to present a certificate signed by an authority in the file.
	TLSClientCA string `yaml:"tls-client-ca"`
	// AccessFile contains the access rules a cluster without rules imports. Before the import, a host with an
	// AccessFile admits no client without a token.
	AccessFile string `yaml:"access-file"`
	// TokenFile contains hashes of root tokens, which may do everything on the local host, whatever access rules the
	// cluster stores. While the cluster has no rules, a host with a TokenFile admits no client without a token.
	TokenFile string `yaml:"token-file"`

	// RaftListen is the address for other hosts. Without RaftListen and without a host list, no other host can
	// connect.
	RaftListen string `yaml:"raft-listen"`
	// RaftAdvertise is the local host's address for other hosts. With a host list, it must be the listed address.
	// RaftAdvertise is empty if RaftListen is Off.
	RaftAdvertise string `yaml:"raft-advertise"`
	// RaftTLSCert, RaftTLSKey and RaftTLSCA make hosts authenticate to each other, in both directions.
	RaftTLSCert string `yaml:"raft-tls-cert"`
	RaftTLSKey  string `yaml:"raft-tls-key"`
	RaftTLSCA   string `yaml:"raft-tls-ca"`
	// RaftSecretFile contains a secret only the cluster's hosts know. Without TLS, the secret keeps strangers from
	// writing to the log.
	RaftSecretFile string `yaml:"raft-secret-file"`
	// RaftHeartbeatInterval is the interval at which leaders send heartbeats to other hosts. A host starts an
	// election after 6 to 12 intervals without a heartbeat, and at least 300 ms. Identical on all hosts.
	RaftHeartbeatInterval time.Duration `yaml:"raft-heartbeat-interval"`
	// RaftSnapshotBytes is the log length after which a shard saves a snapshot and drops the preceding log, except a
	// quarter of RaftSnapshotBytes. 0 derives the length from the last snapshot.
	RaftSnapshotBytes Size `yaml:"raft-snapshot-bytes"`
	// RaftMetrics adds the Raft engine's series to the metrics.
	RaftMetrics bool `yaml:"raft-metrics"`

	// AdminListen is the address for health, metrics and status over HTTP.
	AdminListen string `yaml:"admin-listen"`
	// HTTPListen is the HTTP API's address, for programs that combine a host with a gateway, as signalbox serve does:
	// a host alone does not serve the HTTP API.
	HTTPListen string `yaml:"http-listen"`
	// HTTPPeerCA contains the authorities with which a gateway verifies other hosts over TLS; empty for the system's
	// authorities.
	HTTPPeerCA string `yaml:"http-peer-ca"`
	// ConsoleAnonymousWrites lets browsers without a token make changes at HTTPListen.
	ConsoleAnonymousWrites bool `yaml:"console-anonymous-writes"`
	// HTTPAllowedHosts are names for the host in HTTP requests, in addition to those in its own addresses.
	HTTPAllowedHosts []string `yaml:"http-allowed-hosts"`
	// HTTPTrustedProxies are the proxies at HTTPListen that may report their clients' addresses.
	HTTPTrustedProxies []netip.Prefix `yaml:"http-trusted-proxies"`
	// Pprof also serves the Go profiler at AdminListen.
	Pprof bool `yaml:"pprof"`

	// MemoryLimit is the memory the host may use. 0 means what its container and machine allow. MaxOutputBuffer,
	// MaxWatchMemory, MaxInputBuffer, ShardQuotaBytes and MaxConnections are derived from MemoryLimit if they are 0.
	MemoryLimit Size `yaml:"memory-limit"`
	// MaxDataSize is the maximum number of data bytes for a semaphore, an owner or a waiter.
	MaxDataSize Size `yaml:"max-data-size"`
	// MaxConnections is the maximum number of client connections. 0 derives the number from the file descriptor limit
	// and the memory.
	MaxConnections int `yaml:"max-connections"`
	// MaxRequestsInFlight is the maximum number of unanswered requests per connection.
	MaxRequestsInFlight int `yaml:"max-requests-in-flight"`
	// MaxWatches is the maximum number of open watches per connection.
	MaxWatches int `yaml:"max-watches"`
	// MaxOutputBuffer is the maximum number of unsent bytes over all connections.
	MaxOutputBuffer Size `yaml:"max-output-buffer"`
	// MaxWatchMemory is the maximum memory for open watches over all connections.
	MaxWatchMemory Size `yaml:"max-watch-memory"`
	// MaxInputBuffer is the maximum number of bytes in partially received requests over all connections.
	MaxInputBuffer Size `yaml:"max-input-buffer"`
	// ShardQuotaObjects and ShardQuotaBytes are a data shard's quotas, over all nodes. The object quota on the
	// shard's leader applies, and the smallest byte quota among the hosts with a replica. 0 bytes means derived from
	// the memory and the number of shards.
	ShardQuotaObjects int  `yaml:"shard-quota-objects"`
	ShardQuotaBytes   Size `yaml:"shard-quota-bytes"`
	// PingInterval is the heartbeat interval for idle clients. A client that is silent for three intervals is
	// disconnected.
	PingInterval time.Duration `yaml:"ping-interval"`
	// MinFreeDisk is the free space in the data directory's file system below which the host rejects changes. 0
	// derives the value from the file system size.
	MinFreeDisk Size `yaml:"min-free-disk"`

	// LogFormat is FormatText or FormatJSON.
	LogFormat string `yaml:"log-format"`
	// LogLevel is the minimum level in the log.
	LogLevel slog.Level `yaml:"log-level"`

	// Insecure lists parts that may be open to a network without protection.
	Insecure Parts `yaml:"insecure"`

	// AnyPort allows port 0, meaning a free port, for the client and admin listeners. AnyPort is for programs that
	// embed a host and ask the host for its addresses; no flag or file line sets AnyPort.
	AnyPort bool `yaml:"-"`

	// alone: no host list was given, so the local host creates the cluster.
	alone bool
	// httpByDefault: HTTPListen was not given.
	httpByDefault bool
	// origins are the positions of given settings, by name.
	origins map[string]string
	// warnings are about allowed settings with a probably unintended effect, found in the sources and by the checks.
	sourceWarnings, warnings []string
}

// Defaults.
const (
	DefaultName        = "signalbox"
	DefaultDataDir     = "signalbox-data"
	DefaultListen      = "127.0.0.1:7420"
	DefaultRaftListen  = "127.0.0.1:7421"
	DefaultAdminListen = "127.0.0.1:7422"
	DefaultHTTPListen  = "127.0.0.1:7424"

	// DefaultShards is the number of data shards in a new cluster. In a small cluster, every additional shard reduces
	// throughput, because fewer operations share an fsync and a message between hosts. Measured on two processors
	// with 512 callers, client included: one host does 79,000 lock cycles per second with one shard, and 30,000 to
	// 75,000 with four. With spare processors, and several hosts to share the work, specify more shards at the
	// cluster's bootstrap.
	DefaultShards = 1

	DefaultMaxRequestsInFlight   = 16_384
	DefaultMaxWatches            = 65_536
	DefaultPingInterval          = 10 * time.Second
	DefaultRaftHeartbeatInterval = 50 * time.Millisecond
)

// Off is the address of a disabled listener.
const Off = "off"

const (
	// FormatText logs human-readable lines.
	FormatText = "text"
	// FormatJSON logs machine-readable lines.
	FormatJSON = "json"
)

// Defaults returns the default settings. Fields that depend on other settings are still empty.
func Defaults() Settings {
	return Settings{
		DataDir:               DefaultDataDir,
		AdminListen:           DefaultAdminListen,
		TLSListen:             Off,
		MaxDataSize:           protocol.DefaultDataBytes,
		MaxRequestsInFlight:   DefaultMaxRequestsInFlight,
		MaxWatches:            DefaultMaxWatches,
		ShardQuotaObjects:     shard.DefaultShardObjects,
		PingInterval:          DefaultPingInterval,
		RaftHeartbeatInterval: DefaultRaftHeartbeatInterval,
		LogFormat:             FormatText,
		LogLevel:              slog.LevelInfo,
	}
}

// HasAccessControl reports whether the host has access rules or root tokens. A cluster bootstrapped by such a host is
// closed: see identity.Bootstrap.
func (s *Settings) HasAccessControl() bool { return s.AccessFile != "" || s.TokenFile != "" }

// HasPeers reports whether the list contains other hosts.
func (s *Settings) HasPeers() bool { return len(s.InitialHosts) > 1 }

// HasList reports whether a host list was given.
func (s *Settings) HasList() bool { return !s.alone }

// Joins reports whether the host should join an existing cluster.
func (s *Settings) Joins() bool { return len(s.Join) > 0 }

// ServesHosts reports whether other hosts may connect.
func (s *Settings) ServesHosts() bool { return listens(s.RaftListen) }

// IsLocal reports whether the host is isolated on its machine: no other host can reach it, and clients only from the
// machine. Only then is a cluster created automatically in an empty directory, because no other cluster can be
// confused with it.
func (s *Settings) IsLocal() bool {
	for _, address := range []string{s.Listen, s.TLSListen, s.AdminListen, s.HTTPListen} {
		if listens(address) && !isLoopback(address) {
			return false
		}
	}
	return s.alone && !s.ServesHosts()
}

// Warnings are about allowed settings with a probably unintended effect. They are available after Load and Complete.
func (s *Settings) Warnings() []string { return slices.Concat(s.sourceWarnings, s.warnings) }

// ServesPlain reports whether clients may connect without TLS.
func (s *Settings) ServesPlain() bool { return listens(s.Listen) }

// ServesTLS reports whether clients may connect with TLS.
func (s *Settings) ServesTLS() bool { return listens(s.TLSListen) }

// ServesAdmin reports whether the host has a listener for health, metrics and status.
func (s *Settings) ServesAdmin() bool { return listens(s.AdminListen) }

// ServesHTTP reports whether the host has a listener for the HTTP API.
func (s *Settings) ServesHTTP() bool { return listens(s.HTTPListen) }

// WantsHTTP reports whether a listener for the HTTP API was explicitly requested. If so, the host must not continue
// without the listener.
func (s *Settings) WantsHTTP() bool { return s.ServesHTTP() && !s.httpByDefault }

func listens(address string) bool { return address != "" && address != Off }
