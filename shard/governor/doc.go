// Package governor decides the next change among a cluster's hosts: which replicas vote, which host leads a shard,
// which host gets a replica, and when a host changes its state. The package is deterministic: it derives the next step,
// or the reasons why there is none, from the records in package hosts, the open steps, and the observations by the meta
// shard's leader.
//
// Start with Planner: its rules are in failed.go, votes.go, copies.go and leaders.go, their order is in governor.go. A
// step is an Action. Right before an executor acts, Judge reports whether the action is still allowed. DESIGN.md has
// the rules, the executor's work for each action, and the meta machine's part.
package governor
