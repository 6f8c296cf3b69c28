// Package executor makes hosts and replicas follow the plan of package governor: it is what runs at the leader of the
// meta shard, and what every host does when that asks.
//
// Executor is the one at the leader. Run governs for as long as this host leads the meta shard: it asks all hosts for
// reports (watch.go), makes of them what a governor sees (seen.go), and goes on with the plan, one thing after the
// other (round.go, step.go). Agent is the other side: it reports what a host observes of the shards that it leads
// (report.go), and does what a step asks for (effect.go). call.go has the messages between the two.
//
// An Executor keeps nothing that counts. It may end between any two of its acts, and another may run at the same time
// at a host that believes that it leads: each act carries its term, each change of a membership the number of the
// membership that it is for, and what an act has come to is read and never assumed. DESIGN.md has the argument.
//
// Start reading at needs.go, which says what the package stands on.
package executor
