package settings

// table contains every setting, in reading order.
var table = []row{
	{
		name: "name", group: groupHost, hint: "NAME",
		help:      "Name of this host. Must be one of the names in initial-hosts",
		otherwise: "the only name in initial-hosts, or " + DefaultName + " without a list",
	},
	{
		name: "data-dir", group: groupHost, hint: "DIRECTORY",
		help: "Data directory. Created on first start. Must not be shared between hosts",
	},
	{
		name: "initial-hosts", group: groupHost, hint: "NAME=ADDRESS", clusterWide: true,
		help: "Initial members of the cluster: the name of each host, and its address for other hosts. " +
			"Repeat the flag, or separate the hosts by commas; include this host. The cluster bootstraps once all " +
			"of them have started. Used for bootstrap only",
		otherwise: "this host alone",
	},
	{
		name: "join", group: groupHost, hint: "ADDRESSES",
		help: "Raft addresses of any hosts of the cluster to join, separated by commas. Ignored if the data " +
			"directory already belongs to a cluster",
		own: func(s *Settings) value { return form[[]string]{&s.Join, readAddresses, joined} },
	},
	{
		name: "join-token-file", group: groupHost, hint: "FILE",
		help: "File with a join token, made by signalbox host join-token create. The variable " +
			"SIGNALBOX_JOIN_TOKEN has the token itself. Without a token the host joins by its certificate or the " +
			"cluster secret",
	},
	{
		name: "replace", group: groupHost, hint: "NAME",
		help: "Join as the replacement for the given host, which must be permanently lost. A host may have " +
			"the name of the host that it replaces",
	},
	{
		name: "failure-domain", group: groupHost, hint: "KEY=VALUE",
		help: "Failure domain of this host, such as dc=a,rack=1. Hosts that fail together share a value. " +
			"Used at bootstrap and when joining; change it later with signalbox host alter",
	},
	{
		name: "cluster-name", group: groupHost, hint: "NAME", clusterWide: true,
		help: "Cluster name. Keeps two clusters of the same hosts apart",
	},
	{
		name: "shards", group: groupHost, hint: "NUMBER", clusterWide: true,
		help:      "Number of data shards, fixed at the first start",
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
		help:      "Address of this host for clients, if it differs from the address to listen on",
		otherwise: "tls-listen, or else listen",
	},
	{
		name: "tls-cert", group: groupClients, hint: "FILE",
		help: "Certificate file of tls-listen, PEM. Reloaded when it changes",
	},
	{
		name: "tls-key", group: groupClients, hint: "FILE",
		help: "Private key file of tls-cert, PEM",
	},
	{
		name: "tls-client-ca", group: groupClients, hint: "FILE",
		help: "File with the CAs that sign client certificates, PEM. TLS clients must show such a " +
			"certificate",
	},
	{
		name: "access-file", group: groupClients, hint: "FILE",
		help: "File with access rules (signalbox access export writes one) that a cluster without rules imports. " +
			"Later the rules of the cluster count. Give all hosts the same file",
	},
	{
		name: "token-file", group: groupClients, hint: "FILE",
		help: "File with hashes of root tokens (signalbox token generate makes them). They may do everything on this " +
			"host, whatever rules the cluster keeps. Reloaded when it changes",
	},

	{
		name: "raft-listen", group: groupRaft, hint: "ADDRESS",
		help:      "Address for other hosts, or off",
		otherwise: "this host's address in initial-hosts; off without a list",
	},
	{
		name: "raft-advertise", group: groupRaft, hint: "ADDRESS",
		help:      "Address of this host for other hosts, if it differs from the address to listen on",
		otherwise: "this host's address in initial-hosts, or raft-listen without a list",
	},
	{
		name: "raft-tls-cert", group: groupRaft, hint: "FILE",
		help: "Certificate file for other hosts, PEM. The host name must be its CN or one of its DNS names",
	},
	{
		name: "raft-tls-key", group: groupRaft, hint: "FILE",
		help: "Private key file of raft-tls-cert, PEM",
	},
	{
		name: "raft-tls-ca", group: groupRaft, hint: "FILE",
		help: "File with the CAs that sign the certificates of all hosts, PEM",
	},
	{
		name: "raft-secret-file", group: groupRaft, hint: "FILE",
		help: "File with a secret of 16 bytes or more, the same on all hosts, that authenticates messages " +
			"between hosts. It does not encrypt them",
		otherwise: "the secret that the host received when it joined",
	},
	{
		name: "raft-heartbeat-interval", group: groupRaft, hint: "DURATION", clusterWide: true,
		help: "Interval of leader heartbeats to other hosts. After 6 to 12 intervals without a heartbeat, " +
			"and at least 300 ms, another host starts an election. Up to 250ms, and above the round trip between " +
			"the hosts",
	},
	{
		name: "raft-snapshot-bytes", group: groupRaft, hint: "SIZE",
		help: "Log size at which a shard saves a snapshot: the bytes of its changes, plus 512 bytes per " +
			"batch and 160 per command for their cost at a restart. A quarter stays in the log, for hosts that lag",
		otherwise: "the size of the last snapshot, and at least 64MiB without the commands; 16MiB stay",
	},
	{
		name: "raft-metrics", group: groupRaft,
		help: "Add the metrics of the Raft engine, about eight for each shard",
	},

	{
		name: "admin-listen", group: groupAdmin, hint: "ADDRESS",
		help: "HTTP address for health, metrics and status, or off",
	},
	{
		name: "http-listen", group: groupAdmin, hint: "ADDRESS",
		help: "HTTP address for the console and the HTTP API, or off. Uses TLS if tls-cert is set. If the " +
			"setting is not given and another process uses the default port, the host starts without the HTTP API",
		otherwise: DefaultHTTPListen + "; off if tls-client-ca is set",
		own:       func(s *Settings) value { return form[string]{&s.HTTPListen, readListener, shown[string]} },
	},
	{
		name: "http-peer-ca", group: groupAdmin, hint: "FILE",
		help: "File with the CAs that sign the certificates of the other hosts' tls-listen, PEM. The HTTP " +
			"API uses them to reach other hosts",
		otherwise: "the CAs of the system",
	},
	{
		name: "console-anonymous-writes", group: groupAdmin,
		help: "Let browsers without a token make changes in the console of this host",
	},
	{
		name: "http-allowed-hosts", group: groupAdmin, hint: "NAMES",
		help: "Host names that HTTP requests may use for this host, separated by commas, in addition to IP " +
			"addresses, localhost and the names in its own addresses",
		own: func(s *Settings) value { return form[[]string]{&s.HTTPAllowedHosts, readNames, joined} },
	},
	{
		name: "http-trusted-proxies", group: groupAdmin, hint: "NETWORKS",
		help: "Addresses or networks, such as 10.0.0.0/8, of trusted proxies, separated by commas. Their " +
			"X-Forwarded-For or Forwarded header gives the client address, for limits per address and for the " +
			"audit log",
	},
	{
		name: "pprof", group: groupAdmin,
		help: "Serve the Go profiler at admin-listen",
	},

	{
		name: "memory-limit", group: groupLimits, hint: "SIZE",
		help: "Memory limit of the host. Other memory limits derive from it. Changes that need memory are " +
			"rejected while memory is nearly full",
		otherwise: "the memory of the container or of the machine, whichever is less",
	},
	{
		name: "max-data-size", group: groupLimits, hint: "SIZE", clusterWide: true,
		help: "Maximum size of the data of a semaphore, an owner or a waiter, up to 1MiB",
	},
	{
		name: "max-connections", group: groupLimits, hint: "NUMBER",
		help:      "Maximum number of client connections. Further connections are rejected",
		otherwise: "the limit of open files, less a reserve, and at most one for each 32KiB of memory",
	},
	{
		name: "max-requests-in-flight", group: groupLimits, hint: "NUMBER",
		help: "Maximum number of unanswered requests per connection",
	},
	{
		name: "max-watches", group: groupLimits, hint: "NUMBER",
		help: "Maximum number of open watches per connection",
	},
	{
		name: "max-watch-memory", group: groupLimits, hint: "SIZE",
		help: "Maximum memory of open watches over all connections, at 768 bytes each plus the name. " +
			"Further watches are rejected",
		otherwise: "a sixteenth of the memory, at most 512MiB",
	},
	{
		name: "max-output-buffer", group: groupLimits, hint: "SIZE",
		help: "Maximum number of bytes waiting to be sent, over all connections. Above it the slowest " +
			"readers are disconnected",
		otherwise: "a sixteenth of the memory, at most 512MiB",
	},
	{
		name: "max-input-buffer", group: groupLimits, hint: "SIZE",
		help: "Maximum number of bytes held for requests that have arrived in part, over all connections. " +
			"Above it the connections that hold the most are closed",
		otherwise: "a thirty-second of the memory, 8MiB to 64MiB",
	},
	{
		name: "shard-quota-objects", group: groupLimits, hint: "NUMBER",
		help: "Maximum number of semaphores per shard, over all nodes. Further ones are rejected. Set it to " +
			"the same value on all hosts: the value of the shard leader applies",
	},
	{
		name: "shard-quota-bytes", group: groupLimits, hint: "SIZE",
		help: "Maximum memory of the semaphores and sessions per shard, over all nodes, as the shard " +
			"estimates it. Requests that need more are rejected. The lowest value of the hosts with a replica " +
			"applies",
		otherwise: "a quarter of the memory or less, divided by the number of shards, at most 4GiB",
	},
	{
		name: "ping-interval", group: groupLimits, hint: "DURATION",
		help: "Heartbeat interval for idle clients. A client is disconnected after three missed heartbeats",
	},
	{
		name: "min-free-disk", group: groupLimits, hint: "SIZE",
		help: "Minimum free space on the file system of the data directory. Below it changes are rejected; " +
			"reads continue",
		otherwise: "a twentieth of the file system, but 256MiB to 2GiB, and never more than a quarter",
	},

	{
		name: "log-format", group: groupLog, hint: "text|json",
		help: "Log format on standard error: text for people, json for programs",
		own:  func(s *Settings) value { return form[string]{&s.LogFormat, readLogFormat, shown[string]} },
	},
	{
		name: "log-level", group: groupLog, hint: "debug|info|warn|error",
		help: "Lowest log level that is written",
	},

	{
		name: "insecure", group: groupSafety, hint: "LISTENERS",
		help: "Listeners that may be open to a network without protection: clients, raft, admin, http, or " +
			"all. Without a value: all",
	},
}
