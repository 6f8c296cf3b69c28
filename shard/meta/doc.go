// Package meta is the state machine of the meta shard, which holds all that is not sessions and
// semaphores: coordination nodes with their paths and configs, the hosts, and the slot table.
//
// Like the machine of a data shard it is pure: no I/O, no clock, no goroutine, no randomness. What it
// does depends on nothing but the commands it was given, in their order. A Batch of commands goes in,
// a list of Effects comes out: the answer to every command and what it changed.
//
// It is written for few writes and many reads. Nodes and hosts are immutable values in sorted lists; a
// change puts a new value in the old one's place. So a read is a short lookup under the read lock, and
// a snapshot is the lists as they are, which the next write copies before it touches them.
//
// Caveats:
//
//   - Apply and the reads may run side by side; two Apply calls may not, nor Apply and Restore. A read
//     may see the state between two commands of one batch, never within a command.
//   - Lists inside effects and read results are shared with the machine and never change; do not write
//     to them.
//   - A machine is one replica's view. It may lag behind other replicas: see Liveness and Timing for
//     what a host may conclude from it and what not.
package meta
