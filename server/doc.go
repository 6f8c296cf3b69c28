// Package server implements a Signalbox host: it accepts client connections, passes their requests to the shards,
// keeps sessions alive, and sends changes to watchers.
//
// Start here: Open (host.go) creates a Host from a Config. A transport passes connections to the host (Host.Opened).
// This package combines the packages below, and contains what belongs to the host as a whole:
//
//	host.go, config.go      the host's components, and its configuration
//	cluster.go              the host's knowledge about the cluster's hosts, and actions on them
//	routes.go, leads.go     announcements about hosts and leaders, to clients and to other hosts
//	level.go, health.go     feature levels; the health issues that the host detects
//	status.go, overview.go  host and cluster state for operators; metrics*.go: for Prometheus
//
// The packages below, each with its own start:
//
//	connection     connections: frames, dispatch, answers, the sessions that act over a connection, limits
//	handle         request handlers, with a package for each subject
//	caller, audit  client identities and rights; the log of administrative actions, and the audit log
//	membership     the host's record, reports from other hosts, and governing
//	health         health issues for a host, and for the cluster
//	replica        a host's work for its shards: applying, leases, timers, reconciling, the leader's tasks
//	pipeline       one shard's queue
//	watch, lease   streaming watches; session leases
//	transport      connections as byte streams
//	metrics        a host's counters
//
// A request takes this path: a connection's event loop decodes the request and dispatches it to its handler (package
// connection). A handler returns an answer, an error, or a pending operation (package handle). A read is answered
// from the memory of the host's replica of the shard, after a read barrier if the read must be strict. A mutation is
// added to its shard's pipeline, which proposes many mutations together to the log. When the batch is applied here,
// the replica passes the results to the waiting connections, and the other effects to waiting acquires, watches and
// sessions.
//
// Lock order: replica.Replica's, a hub's, a connection's, lease locks. No lock is held while the log is called,
// except the pipeline's own, which orders proposals. DESIGN.md explains why the packages are divided in this way.
package server
