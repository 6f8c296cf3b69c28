package settings

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Settings are the configuration of a host. Defaults returns the defaults, Load fills the settings from flags,
// environment and file, and Complete checks settings made by a program.
//
// An unwanted listener has the address Off.
type Settings struct {
	// Name is the name of this host among InitialHosts. The name never changes for a data directory.
	Name string `yaml:"name"`
	// DataDir holds everything the host must not forget. The directory belongs to this host alone.
	DataDir string `yaml:"data-dir"`
	// InitialHosts are the initial members of the cluster, equal on all of them, with their addresses for each other.
	// Empty means this host alone.
	InitialHosts []InitialHost `yaml:"initial-hosts"`
	// ClusterName is the cluster name. It distinguishes two clusters made of one set of hosts, one after the other.
	// Equal on all hosts, and never changed.
	ClusterName string `yaml:"cluster-name"`
	// Join are Raft addresses of hosts in the cluster to join. Join counts only while the data directory belongs to no
	// cluster.
	Join []string `yaml:"join"`
	// Replace names the lost host replaced by this host when joining, empty for none.
	Replace string `yaml:"replace"`
	// JoinTokenFile is the file of the join token that shows this host's right to join.
	JoinTokenFile string `yaml:"join-token-file"`
	// JoinToken is the token itself, instead of JoinTokenFile. Only the environment and programs set JoinToken.
	JoinToken string `yaml:"-"`
	// FailureDomain is the failure domain of the host, as KEY=VALUE with commas between them: hosts that fail together
	// share a
	// value.
	FailureDomain string `yaml:"failure-domain"`
	// Shards is the number of data shards, fixed at the bootstrap of the cluster. Zero means the number of the data
	// directory, and DefaultShards for a new directory.
	Shards int `yaml:"shards"`

	// Listen is the address for clients without TLS.
	Listen string `yaml:"listen"`
	// TLSListen is the address for clients with TLS.
	TLSListen string `yaml:"tls-listen"`
	// Advertise is the address of this host for clients.
	Advertise string `yaml:"advertise"`
	// TLSCert and TLSKey are the certificate of TLSListen with its key, PEM. The host reads both again after a
	// change.
	TLSCert string `yaml:"tls-cert"`
	TLSKey  string `yaml:"tls-key"`
	// TLSClientCA makes clients of TLSListen show a certificate signed by an authority in the file.
	TLSClientCA string `yaml:"tls-client-ca"`
	// AccessFile has the access rules that a cluster without any imports. Before the import a host with an AccessFile
	// lets in no client without a token.
	AccessFile string `yaml:"access-file"`
	// TokenFile has hashes of root tokens, which may do everything on this host, whatever rules the cluster keeps.
	// While the cluster has no rules a host with a TokenFile lets in no client without a token.
	TokenFile string `yaml:"token-file"`

	// RaftListen is the address for other hosts. Without RaftListen and without a list of hosts, no other host can
	// connect.
	RaftListen string `yaml:"raft-listen"`
	// RaftAdvertise is the address of this host for other hosts. With a list of hosts, RaftAdvertise must be the
	// listed address. If RaftListen is Off, RaftAdvertise is empty.
	RaftAdvertise string `yaml:"raft-advertise"`
	// RaftTLSCert, RaftTLSKey and RaftTLSCA make hosts authenticate to each other, in both directions.
	RaftTLSCert string `yaml:"raft-tls-cert"`
	RaftTLSKey  string `yaml:"raft-tls-key"`
	RaftTLSCA   string `yaml:"raft-tls-ca"`
	// RaftSecretFile holds a secret that only the hosts of the cluster know. Without TLS the secret keeps strangers
	// from writing to the log.
	RaftSecretFile string `yaml:"raft-secret-file"`
	// RaftHeartbeatInterval is the interval of leader heartbeats to other hosts. Another host starts an election after
	// 6 to 12 intervals without a heartbeat, and at least 300 ms. Equal on all hosts.
	RaftHeartbeatInterval time.Duration `yaml:"raft-heartbeat-interval"`
	// RaftSnapshotBytes is the length of the log after which a shard saves a snapshot and drops the log before the
	// snapshot, except a quarter of RaftSnapshotBytes. Zero derives the length from the last snapshot.
	RaftSnapshotBytes Size `yaml:"raft-snapshot-bytes"`
	// RaftMetrics adds the series of the Raft engine to the metrics.
	RaftMetrics bool `yaml:"raft-metrics"`

	// AdminListen is the address of health, metrics and status over HTTP.
	AdminListen string `yaml:"admin-listen"`
	// HTTPListen is the address of the HTTP API, for programs that compose a host with a gateway, as signalbox serve
	// does: a host by itself does not serve the HTTP API.
	HTTPListen string `yaml:"http-listen"`
	// HTTPPeerCA has the authorities by which a gateway knows other hosts over TLS; empty for the authorities of the
	// system.
	HTTPPeerCA string `yaml:"http-peer-ca"`
	// ConsoleAnonymousWrites lets browsers without a token make changes at HTTPListen.
	ConsoleAnonymousWrites bool `yaml:"console-anonymous-writes"`
	// HTTPAllowedHosts are names of the host in HTTP requests, besides the names in its own addresses.
	HTTPAllowedHosts []string `yaml:"http-allowed-hosts"`
	// HTTPTrustedProxies are the proxies at HTTPListen that may name the addresses of their clients.
	HTTPTrustedProxies []netip.Prefix `yaml:"http-trusted-proxies"`
	// Pprof serves the Go profiler at AdminListen as well.
	Pprof bool `yaml:"pprof"`

	// MemoryLimit is how much memory the host may use. Zero stands for what its container and its machine allow.
	// MaxOutputBuffer, MaxWatchMemory, MaxInputBuffer, ShardQuotaBytes and MaxConnections follow it if they are zero.
	MemoryLimit Size `yaml:"memory-limit"`
	// MaxDataSize is the most bytes that the data of a semaphore, an owner or a waiter may have.
	MaxDataSize Size `yaml:"max-data-size"`
	// MaxConnections is the largest number of client connections. Zero derives the number from the limit of open files
	// and the memory.
	MaxConnections int `yaml:"max-connections"`
	// MaxRequestsInFlight is the largest number of unanswered requests of one connection.
	MaxRequestsInFlight int `yaml:"max-requests-in-flight"`
	// MaxWatches is the largest number of open watches of one connection.
	MaxWatches int `yaml:"max-watches"`
	// MaxOutputBuffer is how much may wait to be sent over all connections together.
	MaxOutputBuffer Size `yaml:"max-output-buffer"`
	// MaxWatchMemory is how much memory the open watches of all connections may hold.
	MaxWatchMemory Size `yaml:"max-watch-memory"`
	// MaxInputBuffer is how much may be held of requests that have arrived in part, over all connections together.
	MaxInputBuffer Size `yaml:"max-input-buffer"`
	// ShardQuotaObjects and ShardQuotaBytes are the quotas of a data shard, over all nodes. The objects of the shard's
	// leader apply, and the least bytes of the hosts with a replica. Zero bytes follow the memory and the number of
	// shards.
	ShardQuotaObjects int  `yaml:"shard-quota-objects"`
	ShardQuotaBytes   Size `yaml:"shard-quota-bytes"`
	// PingInterval is how often an idle client must ping. A client silent for three intervals is disconnected.
	PingInterval time.Duration `yaml:"ping-interval"`
	// MinFreeDisk is how many bytes of the data directory's file system must be free for the host to accept changes.
	// Zero derives the number from the size of the file system.
	MinFreeDisk Size `yaml:"min-free-disk"`

	// LogFormat is FormatText or FormatJSON.
	LogFormat string `yaml:"log-format"`
	// LogLevel is the least level in the log.
	LogLevel slog.Level `yaml:"log-level"`

	// Insecure names parts open to a network without protection.
	Insecure Parts `yaml:"insecure"`

	// AnyPort allows port 0, meaning a free port, for the listeners of clients and of the admin pages. AnyPort is for
	// programs that embed a host and ask the host for its addresses; no flag and no line of a file sets AnyPort.
	AnyPort bool `yaml:"-"`

	// alone: no list of hosts was given, so this host makes the cluster.
	alone bool
	// httpByDefault: HTTPListen was not given.
	httpByDefault bool
	// origins are the places of given settings, by name.
	origins map[string]string
	// warnings are about allowed settings with a probably unwanted effect, from the sources and from the checks.
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
	// work, give more at the bootstrap of a cluster.
	DefaultShards = 1

	DefaultMaxRequestsInFlight   = 16_384
	DefaultMaxWatches            = 65_536
	DefaultPingInterval          = 10 * time.Second
	DefaultRaftHeartbeatInterval = 50 * time.Millisecond
)

// Off is the address of an unwanted listener.
const Off = "off"

const (
	// FormatText is a log of lines for people.
	FormatText = "text"
	// FormatJSON is a log of lines for programs.
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

// HasPeers reports whether the list has other hosts.
func (s *Settings) HasPeers() bool { return len(s.InitialHosts) > 1 }

// HasList reports whether a list of hosts was given.
func (s *Settings) HasList() bool { return !s.alone }

// Joins reports whether the host is to join an existing cluster.
func (s *Settings) Joins() bool { return len(s.Join) > 0 }

// ServesHosts reports whether other hosts may connect.
func (s *Settings) ServesHosts() bool { return listens(s.RaftListen) }

// IsLocal reports whether the host is alone on its machine: no other host can reach the host, and clients only from
// the machine. Only then an empty directory is made into a cluster by itself, because no other cluster can be
// mistaken for the new cluster.
func (s *Settings) IsLocal() bool {
	for _, address := range []string{s.Listen, s.TLSListen, s.AdminListen, s.HTTPListen} {
		if listens(address) && !isLoopback(address) {
			return false
		}
	}
	return s.alone && !s.ServesHosts()
}

// Warnings are about allowed settings with a probably unwanted effect. The warnings are known after Load and
// Complete.
func (s *Settings) Warnings() []string { return slices.Concat(s.sourceWarnings, s.warnings) }

// ServesPlain reports whether clients may connect without TLS.
func (s *Settings) ServesPlain() bool { return listens(s.Listen) }

// ServesTLS reports whether clients may connect with TLS.
func (s *Settings) ServesTLS() bool { return listens(s.TLSListen) }

// ServesAdmin reports whether the host has a listener for health, metrics and status.
func (s *Settings) ServesAdmin() bool { return listens(s.AdminListen) }

// ServesHTTP reports whether the host has a listener for the HTTP API.
func (s *Settings) ServesHTTP() bool { return listens(s.HTTPListen) }

// WantsHTTP reports whether a listener for the HTTP API was requested: a host without the listener must not go on
// then.
func (s *Settings) WantsHTTP() bool { return s.ServesHTTP() && !s.httpByDefault }

func listens(address string) bool { return address != "" && address != Off }
