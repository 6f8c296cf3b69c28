// Package replica is what a host does for its shards, whether it leads them or follows: it applies what their logs
// commit, answers what was asked through this host, and does what time brings about.
//
// Start here: New (set.go) makes a Set, the replicas of all shards of one host, and Set.Open starts them. Then
//
//	replica.go     Replica: one data shard. Apply, and complete, which answers
//	waiting.go     acquires that wait in queues; waiter_timers.go their deadlines
//	one_shot.go    one-shot watches; streaming ones are package hub's
//	sessions.go    sessions and connections: bound, detached, ended
//	loop.go        the loop of the set: every tick, and whenever something wakes it
//	leader.go      what a leader does: its first command, expiries, timeouts; also reconcile.go, drops.go, quota.go,
//	               digest.go
//	freshness.go   how far this copy may be trusted
//	meta.go        Meta: the meta shard; timing.go, periods.go: grace and self-check periods while they change
//
// Of connections it knows what Conn says, of the log what package shard does.
package replica
