// Package replica runs the shard replicas of a host, both leaders and followers. It applies committed entries, answers
// the requests that this host proposed, and acts on deadlines.
//
// Start here: New (set.go) makes a Set, the replicas of all shards of one host, and Set.Open starts them. Then
//
//	replica.go     Replica: one data shard. Apply, and complete, which answers
//	waiting.go     acquires in queues
//	one_shot.go    one-shot watches; streaming watches are in package watch
//	sessions.go    sessions and connections: bound, detached, ended
//	loop.go        the loop of the set: every tick, and on every wake-up
//	leader.go      the tasks of a leader: its first command, expiries, timeouts; also reconcile.go, drops.go,
//	               quota.go, digest.go
//	freshness.go   how far this copy may be trusted
//	meta.go        Meta: the meta shard; timing.go, periods.go: grace and self-check periods while they change
//
// The package knows connections by the interface Conn, and logs by package shard.
package replica
