// Package engine runs the production log in virtual time: raftlog hosts with the engine, the log store, the write-ahead
// log and the transport, on the disks and network of raftlogtest. A world runs the plan of a seed, and an oracle checks
// that acknowledged entries survive.
//
// Start at Run, which plays the plan of a seed. Directed faults (directed.go) do one thing at the moment at which it
// hurts most. docs/testing.md says what both find.
package engine
