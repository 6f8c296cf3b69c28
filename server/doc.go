// Package server is a host of Signalbox: it takes client connections, carries their requests to the
// shards, keeps sessions alive, and tells watchers what changed.
//
// How a request travels. A connection's event loop decodes it (conn.go, dispatch.go). A read is answered
// from the memory of the shard's replica on this host, after a read barrier where it must be strict
// (read.go). A mutation goes into the pipeline of its shard (package pipeline), which proposes many at once to
// the log. When the batch is applied here (replica.go), its results go straight to the connections that
// wait for them, and its other effects to waiting acquires (waiting.go), watches (watch.go) and the
// session machinery (session.go, duty.go).
//
// What the leader of a shard does besides is its duty (duty.go): it proves to itself that it still leads,
// ends sessions that were silent for too long, times out waiters, and sees to it that what died
// elsewhere leaves nothing behind here (reconcile.go).
//
// Locks, in the order in which they may be taken: replica.mu, hub locks, conn.mu, lease locks. No lock is
// held while the log is called, but for the pipeline's own, which orders proposals.
package server
