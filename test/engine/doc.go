// Package engine runs the production log in virtual time: raftlog hosts with the engine, the log store, the write-ahead
// log and the transport, on the disks and network of raftlogtest. A world runs a seed's plan, and an oracle checks that
// acknowledged entries survive.
//
// Start at Run, which runs a seed's plan. Directed faults (directed.go) cause a single fault at the worst possible
// time. docs/testing.md describes both.
package engine
