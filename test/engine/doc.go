// Package engine plays the production log in virtual time: hosts of shard/raftlog with the engine, the log store, the
// write-ahead log and the transport, on the disks and the network of raftlogtest. A world does to the hosts what its
// plan says, and an oracle knows what was acknowledged.
//
// Start at Run, which plays the plan of a seed. Directed faults (directed.go) do one thing at the moment at which it
// hurts most. docs/testing.md says what both find.
package engine
