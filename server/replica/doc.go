// Package replica runs a host's shard replicas, both leaders and followers. It applies committed entries, answers the
// requests the local host proposed, and acts on deadlines.
//
// Start here: New (set.go) creates a Set, the replicas of all shards on one host, and Set.Open starts them. Then
//
//	replica.go     Replica: one data shard. Apply, and complete, which answers
//	waiting.go     queued acquires
//	one_shot.go    one-shot watches; streaming watches are in package watch
//	sessions.go    sessions and connections: bound, detached, ended
//	loop.go        the set's loop: every tick, and on every wake-up
//	leader.go      a leader's tasks: its first command, expiries, timeouts; also reconcile.go, drops.go,
//	               quota.go, digest.go
//	freshness.go   how far this replica may be trusted
//	meta.go        Meta: the meta shard; timing.go, periods.go: grace and self-check periods while they change
//
// The package accesses connections through the interface Conn, and logs through package shard.
package replica
