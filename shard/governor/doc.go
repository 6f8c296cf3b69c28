// Package governor decides the next change among the hosts of a cluster: which replicas vote, which host leads a shard,
// which host gets a replica, and when a host changes its state. The package is pure: it derives the next step, or the
// reasons why there is none, from the records of package hosts, the open steps and the observations of the meta shard's
// leader.
//
// Start with Planner: its rules are in the files failed.go, votes.go, copies.go and leaders.go, their order is in
// governor.go. A step is an Action. Right before an executor acts, Judge says whether the action is still allowed.
// DESIGN.md has the rules, the work of the executor for each action, and the part of the meta machine.
package governor
