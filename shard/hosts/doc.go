// Package hosts has the records of the hosts of a cluster, and what commands do to them: who belongs to the cluster,
// in which state each host is and is to be, which replicas it has, who may join, and what was changed by whom.
//
// Start with Records. Each exported method that takes an At is a command: a pure function of the records, the time and
// its arguments, which answers with a status and a text for people. A command that is refused changes nothing.
// DESIGN.md has the rules, and what the meta machine does around them.
package hosts
