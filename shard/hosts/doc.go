// Package hosts has the records of the hosts of a cluster, and the commands on them: the hosts that belong to the
// cluster, the state and the target of each host, its replicas, the tokens to join, and the history of all changes
// with their authors.
//
// Start with Records. Each exported method with an argument At is a command: a pure function of the records, the time
// and its arguments. The command answers with a status and a text for people. A refused command changes nothing.
// DESIGN.md has the rules, and the part of the meta machine around the records.
package hosts
