package settings

// table contains every setting, in reading order.
var table = []row{
	{
		name: "name", group: groupHost, hint: "NAME",
		help:      "Host name. Must be in initial-hosts if a list is given",
		otherwise: "the only name in initial-hosts, or " + DefaultName + " without a list",
	},
	{
		name: "data-dir", group: groupHost, hint: "DIRECTORY",
		help: "Data directory. Created on first start. Must not be shared between hosts",
	},
	{
		name: "initial-hosts", group: groupHost, hint: "NAME=ADDRESS", clusterWide: true,
		help: "Initial cluster members, including this host, with their addresses for other hosts. Repeat the " +
			"flag, or separate hosts by commas. The cluster bootstraps once all initial hosts have started. Used " +
			"for bootstrap only",
		otherwise: "this host alone",
	},
	{
		name: "join", group: groupHost, hint: "ADDRESSES",
		help: "Raft addresses of hosts to join, separated by commas. Ignored if the data directory belongs to a " +
			"cluster",
		own: func(s *Settings) value { return form[[]string]{&s.Join, readAddresses, joined} },
	},
	{
		name: "join-token-file", group: groupHost, hint: "FILE",
		help: "File with a join token from signalbox host join-token create. SIGNALBOX_JOIN_TOKEN has the token " +
			"itself. Otherwise, the certificate or the cluster secret authenticates the host",
	},
	{
		name: "replace", group: groupHost, hint: "NAME",
		help: "Join as the replacement for the given host, which must be permanently lost. The name may be the same",
	},
	{
		name: "failure-domain", group: groupHost, hint: "KEY=VALUE",
		help: "Failure domain, such as dc=a,rack=1. Hosts that fail together share a value. For bootstrap and " +
			"joining; later, use signalbox host alter",
	},
	{
		name: "cluster-name", group: groupHost, hint: "NAME", clusterWide: true,
		help: "Cluster name. Distinguishes clusters on shared machines",
	},
	{
		name: "shards", group: groupHost, hint: "NUMBER", clusterWide: true,
		help:      "Number of data shards that the cluster is created with",
		otherwise: "the number in the data directory; 1 in a new one",
	},

	{
		name: "listen", group: groupClients, hint: "ADDRESS",
		help:      "Address for clients without TLS, or off",
		otherwise: DefaultListen + "; off if tls-listen is set",
	},
	{
		name: "tls-listen", group: groupClients, hint: "ADDRESS",
		help: "Address for clients with TLS, or off",
	},
	{
		name: "advertise", group: groupClients, hint: "ADDRESS",
		help:      "Address advertised to clients, if different from the listen address",
		otherwise: "tls-listen, or else listen",
	},
	{
		name: "tls-cert", group: groupClients, hint: "FILE",
		help: "Certificate file for tls-listen, PEM. Reloaded when the file changes",
	},
	{
		name: "tls-key", group: groupClients, hint: "FILE",
		help: "Private key file for tls-cert, PEM",
	},
	{
		name: "tls-client-ca", group: groupClients, hint: "FILE",
		help: "File with the CAs of client certificates, PEM. If set, TLS clients must present a certificate",
	},
	{
		name: "access-file", group: groupClients, hint: "FILE",
		help: "File with access rules, as from signalbox access export. Imported once, if the cluster has no " +
			"rules. Same file on all hosts",
	},
	{
		name: "token-file", group: groupClients, hint: "FILE",
		help: "File with root token hashes, as from signalbox token generate. Root tokens may do everything on " +
			"this host. Reloaded when the file changes",
	},

	{
		name: "raft-listen", group: groupRaft, hint: "ADDRESS",
		help:      "Address for other hosts, or off",
		otherwise: "this host's address in initial-hosts; off without a list",
	},
	{
		name: "raft-advertise", group: groupRaft, hint: "ADDRESS",
		help:      "Address advertised to other hosts, if different from the listen address",
		otherwise: "this host's address in initial-hosts, or raft-listen without a list",
	},
	{
		name: "raft-tls-cert", group: groupRaft, hint: "FILE",
		help: "Certificate file for other hosts, PEM. The CN or a DNS name must be the host name",
	},
	{
		name: "raft-tls-key", group: groupRaft, hint: "FILE",
		help: "Private key file for raft-tls-cert, PEM",
	},
	{
		name: "raft-tls-ca", group: groupRaft, hint: "FILE",
		help: "File with the CAs of all host certificates, PEM",
	},
	{
		name: "raft-secret-file", group: groupRaft, hint: "FILE",
		help: "File with a cluster secret: 16 bytes or more, equal on all hosts. Authenticates hosts, without " +
			"encryption",
		otherwise: "the secret received when joining",
	},
	{
		name: "raft-heartbeat-interval", group: groupRaft, hint: "DURATION", clusterWide: true,
		help: "Interval of leader heartbeats. After 6 to 12 intervals without a heartbeat, and at least 300 ms, " +
			"another host starts an election. Up to 250ms, and above the round trip between hosts",
	},
	{
		name: "raft-snapshot-bytes", group: groupRaft, hint: "SIZE",
		help: "Log size at which a shard saves a snapshot: bytes of changes, plus 512 bytes per batch and 160 " +
			"per command. A quarter stays in the log, for lagging hosts",
		otherwise: "the last snapshot size, and at least 64MiB without the commands; 16MiB stay",
	},
	{
		name: "raft-metrics", group: groupRaft,
		help: "Add Raft engine metrics, about eight per shard",
	},

	{
		name: "admin-listen", group: groupAdmin, hint: "ADDRESS",
		help: "HTTP address for health, metrics and status, or off",
	},
	{
		name: "http-listen", group: groupAdmin, hint: "ADDRESS",
		help: "HTTP address for the console and the HTTP API, or off. With TLS if tls-cert is set. If another " +
			"process uses the default port, the host starts without the API",
		otherwise: DefaultHTTPListen + "; off if tls-client-ca is set",
		own:       func(s *Settings) value { return form[string]{&s.HTTPListen, readListener, shown[string]} },
	},
	{
		name: "http-peer-ca", group: groupAdmin, hint: "FILE",
		help:      "File with the CAs of other hosts' tls-listen certificates, PEM, for the HTTP API",
		otherwise: "the system CAs",
	},
	{
		name: "console-anonymous-writes", group: groupAdmin,
		help: "Let browsers without a token make changes in the console on this host",
	},
	{
		name: "http-allowed-hosts", group: groupAdmin, hint: "NAMES",
		help: "Host names accepted in HTTP requests, separated by commas, besides IP addresses, localhost and the " +
			"names in this host's addresses",
		own: func(s *Settings) value { return form[[]string]{&s.HTTPAllowedHosts, readNames, joined} },
	},
	{
		name: "http-trusted-proxies", group: groupAdmin, hint: "NETWORKS",
		help: "Trusted proxies: addresses or networks such as 10.0.0.0/8, separated by commas. Their " +
			"X-Forwarded-For or Forwarded header gives the client address, for limits and the audit log",
	},
	{
		name: "pprof", group: groupAdmin,
		help: "Serve the Go profiler at admin-listen",
	},

	{
		name: "memory-limit", group: groupLimits, hint: "SIZE",
		help:      "Host memory limit. Other limits derive from the heap: this limit less a reserve for the system",
		otherwise: "container or machine memory, whichever is less",
	},
	{
		name: "max-data-size", group: groupLimits, hint: "SIZE", clusterWide: true,
		help: "Maximum data size per semaphore, owner or waiter, up to 1MiB",
	},
	{
		name: "max-connections", group: groupLimits, hint: "NUMBER",
		help:      "Maximum client connections",
		otherwise: "the open file limit, less a reserve, and at most one per 32KiB heap",
	},
	{
		name: "max-requests-in-flight", group: groupLimits, hint: "NUMBER",
		help: "Maximum unanswered requests per connection",
	},
	{
		name: "max-watches", group: groupLimits, hint: "NUMBER",
		help: "Maximum open watches per connection",
	},
	{
		name: "max-watch-memory", group: groupLimits, hint: "SIZE",
		help:      "Maximum memory for open watches on all connections: 768 bytes per watch, plus the name",
		otherwise: "a sixteenth of the heap, at most 512MiB",
	},
	{
		name: "max-output-buffer", group: groupLimits, hint: "SIZE",
		help:      "Maximum unsent bytes on all connections. Above the limit, the slowest readers are disconnected",
		otherwise: "a sixteenth of the heap, at most 512MiB",
	},
	{
		name: "max-input-buffer", group: groupLimits, hint: "SIZE",
		help: "Maximum bytes of partly received requests on all connections. Above the limit, connections with " +
			"the most bytes are closed",
		otherwise: "a thirty-second of the heap, 8MiB to 64MiB",
	},
	{
		name: "shard-quota-objects", group: groupLimits, hint: "NUMBER",
		help: "Maximum semaphores per shard. Use the same value on all hosts: the shard leader's value applies",
	},
	{
		name: "shard-quota-bytes", group: groupLimits, hint: "SIZE",
		help: "Maximum estimated memory for semaphores and sessions per shard. The lowest value among the hosts " +
			"with a replica applies",
		otherwise: "a quarter of the heap divided by the shard count, at most 4GiB",
	},
	{
		name: "ping-interval", group: groupLimits, hint: "DURATION",
		help: "Heartbeat interval for idle clients. A client is disconnected after three missed heartbeats",
	},
	{
		name: "min-free-disk", group: groupLimits, hint: "SIZE",
		help:      "Minimum free space on the data file system. Below the limit, changes are rejected",
		otherwise: "5% of the file system, but 256MiB to 2GiB, and at most 25%",
	},

	{
		name: "log-format", group: groupLog, hint: "text|json",
		help: "Log format on standard error: text for people, json for programs",
		own:  func(s *Settings) value { return form[string]{&s.LogFormat, readLogFormat, shown[string]} },
	},
	{
		name: "log-level", group: groupLog, hint: "debug|info|warn|error",
		help: "Minimum log level",
	},

	{
		name: "insecure", group: groupSafety, hint: "LISTENERS",
		help: "Listeners that may be open to a network without protection: clients, raft, admin, http or all. " +
			"Without a value: all",
	},
}
