// Package hosts implements cluster membership: hosts with their states, targets and replicas, join tokens, the audit
// log, and the commands that change them.
//
// Start with Records. Each exported method with an At argument is a command: a pure function of the records, the time
// and the arguments. A command returns a status and a text for people. A refused command changes nothing. DESIGN.md has
// the rules, and how the meta machine uses the records.
package hosts
