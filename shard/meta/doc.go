// Package meta implements the meta shard's state machine. The meta shard holds everything except sessions and objects:
// coordination nodes with their paths and configs, the hosts, and the slot table.
//
// Like a data shard's machine, this machine is deterministic: it uses no I/O, clock, goroutine or randomness. Its state
// depends only on its commands and their order. A Batch of commands goes in, a list of Effects comes out: the answer to
// every command and its changes.
//
// The machine is made for few writes and many reads. Nodes and hosts are immutable values in sorted lists; a change
// replaces the old value by a new value. So a read is a short lookup under the read lock. A snapshot shares the present
// lists with the machine, and the next write copies a shared list first.
//
// Caveats:
//
//   - Apply and the reads may run side by side; two Apply calls may not, nor Apply and Restore. A read may see the
//     state between two commands in one batch, never within a command.
//   - Lists inside effects and read results are shared with the machine and never change; do not write to them.
//   - A machine is one replica's view, and may lag behind other replicas: Liveness and Timing define which
//     conclusions a host may draw.
package meta
