// Package executor carries out the steps of package governor. At the governing host it sends each step to the host
// concerned; on every host it executes these requests.
//
// Executor is the side of the leader. Run governs for as long as this host leads the meta shard: it asks all hosts
// for reports (watch.go), makes the governor's view from the reports (seen.go), and goes on with the plan, step by
// step (round.go, step.go). Agent is the side of every host: it reports the host's observations of the shards that
// the host leads (report.go), and performs the effects of steps (effect.go). The messages between the two are in
// call.go.
//
// An Executor keeps no state of importance. It may end between two acts, and another Executor may run at the same
// time at a host that believes it leads. So each act has its term, each change of a membership has the number of the
// earlier membership, and the result of an act is read and never assumed. DESIGN.md has the argument.
//
// Start reading at needs.go, with the interfaces that the package needs.
package executor
