// Package shard is one shard of Signalbox: the state machine of a data shard, the commands and
// effects it speaks in, and the interface of the log that feeds it.
//
// The machine is pure. It does no I/O, reads no clock, starts no goroutine and draws no random
// number; what it does depends on nothing but the commands it was given, in their order. Whatever
// needs time is a command that a leader proposes (SessionsExpire, WaitersTimeOut).
//
// A Batch of commands goes in, a list of Effects comes out: the answer to every command, and what it
// caused besides (a waiter granted, a semaphore changed, a session ended), in the order in which
// users must see them.
//
// Caveats:
//
//   - Apply and the reads may run side by side; two Apply calls may not. The log that feeds a machine
//     calls Apply from one goroutine at a time.
//   - Names and data inside Effects and read results are shared with the machine and never change;
//     do not write to them.
//   - Handles into the machine's memory never leave the package: what two replicas show to the
//     outside is equal even where their memory is laid out differently.
package shard
