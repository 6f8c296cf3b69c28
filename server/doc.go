// Package server is a host of Signalbox: it takes client connections, carries their requests to the shards, keeps
// sessions alive, and sends watchers what changed.
//
// Start here: Open (host.go) makes a Host of a Config. A transport gives it connections (Host.Opened), and what each of
// them does is in this package:
//
//	conn.go        the connection: frames in; output.go: answers and pushes out; bindings.go: its sessions
//	dispatch.go    from a request to what carries it out, the first of all: HELLO
//	access.go      who may do what; audit.go, guesses.go, cut.go, partial.go, pending.go: the other bounds
//	mutate.go      changes of semaphores; session_*.go, node.go: those of sessions and nodes
//	read.go        describe, list.go, watch.go, routes.go: what is answered without a change
//	ping.go        a pong vouches for the sessions of a connection
//
// Below it are, each with its own start:
//
//	replica        what a host does for its shards: applying, leases, timers, reconciling, the leader's tasks
//	pipeline       the queue of one shard
//	hub, lease     streaming watches; which sessions are alive
//	transport      bytes of connections
//	metrics        what a host counts
//
// How a request travels. A connection's event loop decodes it (conn.go) and dispatches it (dispatch.go). A read is
// answered from the memory of the shard's replica on this host, after a read barrier where it must be strict. A
// mutation goes into the pipeline of its shard, which proposes many at once to the log. When the batch is applied here,
// the replica gives its results to the connections that wait for them, and its other effects to waiting acquires,
// watches and sessions.
//
// Locks, in the order in which they may be held together: replica.Replica's, those of a hub, conn.mu, lease locks. No
// lock is held while the log is called, but for the pipeline's own, which orders proposals. DESIGN.md says why the
// rooms are as they are.
package server
