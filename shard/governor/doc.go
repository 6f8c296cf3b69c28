// Package governor decides what is to be changed next among the hosts of a cluster: who votes, who leads, which host
// gets a copy of which shard, and which state of a host follows its target. It is pure: from the records of package
// hosts, the open steps of a plan, and what the leader of the meta shard observes, to the next step or to the reasons
// why there is none.
//
// Start with Planner: its rules are the files failed.go, votes.go, copies.go and leaders.go, their order is in
// governor.go. A step is an Action; Judge says, right before an executor acts, whether it is still allowed. DESIGN.md
// has the rules, what the executor does for each action, and what the meta machine keeps.
package governor
