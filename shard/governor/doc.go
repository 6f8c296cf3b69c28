// Package governor decides the next change among a cluster's hosts: voting replicas, shard leaders, replica placement,
// and host states. The package is deterministic: the next step, or the reasons against any step, follow from the
// records in package hosts, the open steps, and the observations by the meta shard's leader.
//
// Start with Planner: its rules are in the files failed.go, slow.go, votes.go, copies.go and leaders.go, their order is
// in governor.go. A step is an Action. Right before an executor acts, Judge says whether the action is still allowed.
// DESIGN.md has the rules, the work of the executor for each action, and the part of the meta machine.
package governor
