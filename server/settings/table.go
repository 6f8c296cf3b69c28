package settings

// table has every setting, in a good order for readers.
var table = []row{
	{
		name: "name", group: groupHost, hint: "NAME",
		help:      "which of the hosts this one is",
		otherwise: "the only name in the list of hosts, or " + DefaultName + " without a list",
	},
	{
		name: "data-dir", group: groupHost, hint: "DIRECTORY",
		help: "where the host keeps what it must not forget; made at the first start, and of no other host",
	},
	{
		name: "hosts", flag: "host", group: groupHost, hint: "NAME=ADDRESS", clusterWide: true,
		help: "a host that the cluster begins with, and the address at which other hosts reach it; " +
			"repeated for every host, this one included. The cluster is born when all of them have been started",
		otherwise: "this host alone",
	},
	{
		name: "join", group: groupHost, hint: "ADDRESSES",
		help: "join the cluster of these hosts, separated by commas: addresses at which other hosts reach them, of " +
			"any of its hosts. Counts while the data directory belongs to no cluster",
		own: func(s *Settings) value { return form[[]string]{&s.Join, readAddresses, joined} },
	},
	{
		name: "join-token", group: groupHost, hint: "FILE",
		help: "a file with the join token that signalbox host join-token has made, or, in the environment, the token " +
			"itself; without it a host joins by its certificate or the secret of the cluster",
	},
	{
		name: "replace", group: groupHost, hint: "NAME",
		help: "take the place of this host of the cluster, which is gone for good, when joining; its own name: of " +
			"the host that had it, if there is one",
	},
	{
		name: "failure-domain", group: groupHost, hint: "KEY=VALUE",
		help: "where the host stands, such as dc=a,rack=1; what fails together shares a value. It counts when the " +
			"host joins or is born, and is changed by signalbox host alter",
	},
	{
		name: "cluster", group: groupHost, hint: "NAME", clusterWide: true,
		help: "a name for the cluster, so that two made of the same hosts are never taken for one",
	},
	{
		name: "shards", group: groupHost, hint: "NUMBER", clusterWide: true,
		help:      "data shards, fixed for the life of the cluster at the first start",
		otherwise: "what the data directory has; 1 in a new one",
	},

	{
		name: "listen", group: groupClients, hint: "ADDRESS",
		help:      "where clients connect without TLS; off for nowhere",
		otherwise: DefaultListen + "; off where tls-listen is set",
	},
	{
		name: "tls-listen", group: groupClients, hint: "ADDRESS",
		help: "where clients connect with TLS; off for nowhere",
	},
	{
		name: "client-advertise", group: groupClients, hint: "ADDRESS",
		help:      "the address that clients are told for this host, where it is not the one listened on",
		otherwise: "tls-listen, or else listen",
	},
	{
		name: "tls-cert", group: groupClients, hint: "FILE",
		help: "the certificate that tls-listen shows, PEM; read again when it changes",
	},
	{
		name: "tls-key", group: groupClients, hint: "FILE",
		help: "the key of tls-cert, PEM",
	},
	{
		name: "tls-client-ca", group: groupClients, hint: "FILE",
		help: "let in over TLS only clients with a certificate that an authority in this file signed",
	},
	{
		name: "token-file", group: groupClients, hint: "FILE",
		help: "let in only clients with a token of this file, and let each do only what its token allows " +
			"(signalbox token new makes one); read again when it changes",
	},

	{
		name: "raft-listen", group: groupRaft, hint: "ADDRESS",
		help:      "where other hosts connect; off for nowhere",
		otherwise: "this host's address in the list of hosts; off without a list",
	},
	{
		name: "raft-advertise", group: groupRaft, hint: "ADDRESS",
		help:      "the address at which other hosts reach this one, where it is not the one listened on",
		otherwise: "this host's address in the list of hosts, or raft-listen without a list",
	},
	{
		name: "raft-tls-cert", group: groupRaft, hint: "FILE",
		help: "the certificate for other hosts, PEM; it must have this host's name as CN or DNS name",
	},
	{
		name: "raft-tls-key", group: groupRaft, hint: "FILE",
		help: "the key of raft-tls-cert, PEM",
	},
	{
		name: "raft-tls-ca", group: groupRaft, hint: "FILE",
		help: "the authorities that sign the certificates of all hosts, PEM",
	},
	{
		name: "raft-secret-file", group: groupRaft, hint: "FILE",
		help: "a file with a secret of 16 bytes or more, the same on all hosts, by which they know each other's " +
			"messages; " +
			"it encrypts nothing",
		otherwise: "what the host was given when it joined",
	},
	{
		name: "raft-tick", group: groupRaft, hint: "DURATION", clusterWide: true,
		help: "how often a leader calls the other hosts; after 6 to 12 ticks of silence, and 300 ms at least, " +
			"another one leads; up to 250ms, and above the round trip between the hosts",
	},
	{
		name: "raft-snapshot-bytes", group: groupRaft, hint: "SIZE",
		help: "log length at which a shard saves a snapshot: the bytes of its changes, and what they cost a restart " +
			"besides, 512 bytes for each batch and 160 for each command; a quarter stays in the log, for hosts " +
			"that lag",
		otherwise: "the size of the last snapshot, and at least 64MiB without the commands; 16MiB stay",
	},
	{
		name: "raft-metrics", group: groupRaft,
		help: "add the series of the Raft engine to the metrics, about eight for each shard",
	},

	{
		name: "admin-listen", group: groupAdmin, hint: "ADDRESS",
		help: "where health, metrics and status are served over HTTP; off for nowhere",
	},
	{
		name: "http-listen", group: groupAdmin, hint: "ADDRESS",
		help: "where the console and the HTTP API are served, by TLS where tls-cert is set; off or an empty one for " +
			"nowhere. The host goes on without where it is not set and another process listens there",
		otherwise: DefaultHTTPListen + "; off where tls-client-ca is set",
		own:       func(s *Settings) value { return form[string]{&s.HTTPListen, readListener, shown[string]} },
	},
	{
		name: "http-ca", group: groupAdmin, hint: "FILE",
		help:      "the authorities that sign the certificates of the other hosts' tls-listen, PEM: for the HTTP API",
		otherwise: "those of the system",
	},
	{
		name: "console-actions", group: groupAdmin,
		help: "let pages of this host, in a browser, change something without a token",
	},
	{
		name: "http-names", group: groupAdmin, hint: "NAMES",
		help: "names that browsers and tools may use for this host there, separated by commas, besides addresses, " +
			"localhost " +
			"and the names in its own addresses",
		own: func(s *Settings) value { return form[[]string]{&s.HTTPNames, readNames, joined} },
	},
	{
		name: "http-trusted-proxies", group: groupAdmin, hint: "NETWORKS",
		help: "addresses or networks, such as 10.0.0.0/8, of proxies that are trusted to name the addresses of their " +
			"clients there by X-Forwarded-For or Forwarded, separated by commas. Limits of one address count for the " +
			"client then, and the audit names it",
	},
	{
		name: "pprof", group: groupAdmin,
		help: "serve the Go profiler there as well",
	},

	{
		name: "memory-limit", group: groupLimits, hint: "SIZE",
		help: "memory that the host may use. Limits of memory follow it. Changes that take memory are refused while " +
			"the host is short of it",
		otherwise: "the memory of the container or of the machine, whichever is less",
	},
	{
		name: "data-limit", group: groupLimits, hint: "SIZE", clusterWide: true,
		help: "the longest data of a semaphore, an owner or a waiter, up to 1MiB",
	},
	{
		name: "connections", group: groupLimits, hint: "NUMBER",
		help:      "client connections; one more is refused",
		otherwise: "what the limit of open files allows, at most one for each 32KiB of memory",
	},
	{
		name: "requests-in-flight", group: groupLimits, hint: "NUMBER",
		help: "unanswered requests of one connection",
	},
	{
		name: "watches", group: groupLimits, hint: "NUMBER",
		help: "open watches of one connection",
	},
	{
		name: "watch-memory", group: groupLimits, hint: "SIZE",
		help: "what the open watches of all connections may hold, at 768 bytes each and the name; beyond it a watch " +
			"is refused",
		otherwise: "a sixteenth of the memory, at most 512MiB",
	},
	{
		name: "pending-limit", group: groupLimits, hint: "SIZE",
		help: "what may wait to be sent over all connections together; above it the clients that read slowest " +
			"are cut off",
		otherwise: "a sixteenth of the memory, at most 512MiB",
	},
	{
		name: "partial-limit", group: groupLimits, hint: "SIZE",
		help: "what may be held of requests that have arrived in part, over all connections together; above it the " +
			"connections with most of it are closed",
		otherwise: "a thirty-second of the memory, 8MiB to 64MiB",
	},
	{
		name: "shard-objects", group: groupLimits, hint: "NUMBER",
		help: "how many semaphores a shard may have, over all nodes; one more is refused. Give all hosts the same: " +
			"that of the leader counts",
	},
	{
		name: "shard-bytes", group: groupLimits, hint: "SIZE",
		help: "how much memory the semaphores and sessions of a shard may take, over all nodes, by the shard's own " +
			"count; what would take more is refused. The least of the hosts with a replica counts",
		otherwise: "a quarter of the memory or less, divided by the number of shards, at most 4GiB",
	},
	{
		name: "ping-interval", group: groupLimits, hint: "DURATION",
		help: "how often a silent client must say that it is there; after three times that it is disconnected",
	},
	{
		name: "min-free-disk", group: groupLimits, hint: "SIZE",
		help: "refuse changes while less than this is free on the file system of the data directory, " +
			"and serve reads on",
		otherwise: "a twentieth of the file system, but 256MiB to 2GiB, and never more than a quarter",
	},

	{
		name: "log-format", group: groupLog, hint: "text|json",
		help: "lines for people or for programs, on standard error",
		own:  func(s *Settings) value { return form[string]{&s.LogFormat, readLogFormat, shown[string]} },
	},
	{
		name: "log-level", group: groupLog, hint: "debug|info|warn|error",
		help: "the least that is logged",
	},

	{
		name: "insecure", group: groupSafety, hint: "PARTS",
		help: "let what is named be reached over a network without protection: clients, raft, admin, http, or all; " +
			"without a value all",
	},
}
