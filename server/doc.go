// Package server is a host of Signalbox: it takes client connections, brings their requests to the shards, keeps
// sessions alive, and sends changes to watchers.
//
// Start here: Open (host.go) makes a Host of a Config. A transport brings connections to the host (Host.Opened), and
// this package has the work of a connection:
//
//	conn.go        the connection: frames in; output.go: answers and pushes out; bindings.go: its sessions
//	dispatch.go    from a request to its handler, the first of all: HELLO
//	access.go      the rights of clients; audit.go, guesses.go, cut.go, held.go: the other bounds
//	mutate.go      changes of semaphores; session_*.go, node.go: changes of sessions and nodes
//	read.go        describe, list.go, watch.go, routes.go: requests that change nothing; watch_open.go: crowds
//	ping.go        a pong vouches for the sessions of a connection
//
// The packages below, each with its own start:
//
//	replica        a host's work for its shards: applying, leases, timers, reconciling, the leader's tasks
//	pipeline       the queue of one shard
//	hub, lease     streaming watches; the sessions that are alive
//	transport      bytes of connections
//	metrics        the counts of a host
//
// How a request travels. A connection's event loop decodes the request (conn.go) and dispatches it (dispatch.go). A
// read is answered from the memory of the shard's replica on this host, after a read barrier if the read must be
// strict. A mutation goes into the pipeline of its shard, and the pipeline proposes many mutations at once to the
// log. When the batch is applied here, the replica gives the results to the waiting connections, and the other
// effects to waiting acquires, watches and sessions.
//
// Locks, in the order in which they may be held together: replica.Replica's, a hub's, conn.mu, lease locks. No lock
// is held while the log is called, except the pipeline's own, which orders proposals. DESIGN.md says why the rooms
// are as they are.
package server
