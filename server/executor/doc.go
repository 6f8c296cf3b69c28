// Package executor carries out the steps decided by package governor. On the governor host it sends every step to the
// affected host; on every host it executes these requests.
//
// Executor is the leader side. Run governs while the local host leads the meta shard: it asks all hosts for reports
// (watch.go), builds the governor's view from the reports (seen.go), and advances the plan step by step (round.go,
// step.go). Agent is the host side: it reports the host's observations for the shards the host leads (report.go), and
// performs the effects of steps (effect.go). The messages between Executor and Agent are in call.go.
//
// An Executor keeps no essential state. It may end between two actions, and another Executor may run at the same time
// on a host that believes it leads. So every action names its term, every membership change names the preceding
// membership's number, and an action's result is always read, never assumed. DESIGN.md has the argument.
//
// Start reading at needs.go, which declares the interfaces the package needs.
package executor
