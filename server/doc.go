// Package server is a host of Signalbox: it takes client connections, brings their requests to the shards, keeps
// sessions alive, and sends changes to watchers.
//
// Start here: Open (host.go) makes a Host of a Config. A transport brings connections to the host (Host.Opened). This
// package puts the packages below together, and has what belongs to the host as a whole:
//
//	host.go, config.go      what a host is made of, and its configuration
//	cluster.go              what the host knows and does of the hosts of its cluster
//	routes.go, leads.go     announcements of hosts and leaders, to clients and to other hosts
//	level.go, health.go     feature levels; the health issues that the host sees
//	status.go, overview.go  the state of the host and of the cluster, for people; metrics*.go: for Prometheus
//
// The packages below, each with its own start:
//
//	connection     connections: frames, dispatch, answers, the sessions that act over a connection, limits
//	handle         handlers of requests, in a package for each subject
//	caller, audit  who a client is and what it may do; the log of administrative actions, and their history
//	membership     the host's record, reports of other hosts, and governing
//	health         the health issues of a host, and of the cluster
//	replica        a host's work for its shards: applying, leases, timers, reconciling, the leader's tasks
//	pipeline       the queue of one shard
//	watch, lease   streaming watches; the sessions that are alive
//	transport      bytes of connections
//	metrics        the counts of a host
//
// How a request travels. A connection's event loop decodes the request and dispatches it to its handler (package
// connection). A handler returns an answer, an error, or a pending operation (package handle). A read is answered from
// the memory of the shard's replica on this host, after a read barrier if the read must be strict. A mutation goes into
// the pipeline of its shard, and the pipeline proposes many mutations at once to the log. When the batch is applied
// here, the replica gives the results to the waiting connections, and the other effects to waiting acquires, watches
// and sessions.
//
// Locks, in the order in which they may be held together: replica.Replica's, a hub's, a connection's, lease locks. No
// lock is held while the log is called, except the pipeline's own, which orders proposals. DESIGN.md says why the rooms
// are as they are.
package server
