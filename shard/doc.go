// Package shard is the contract for data shards: the log interface, the commands in the log, the effects of applying
// commands, and reads. Package shard/machine has the state machine that applies commands.
//
// A Batch of commands goes in, a list of Effects comes out: the answer to every command, and its consequences (a waiter
// granted, a semaphore changed, a session ended), in the order in which users must see them.
//
// Names and data inside Effects and read results are copies, or shared with the machine, and never change; do not write
// to them.
//
// # Where to find what
//
// DESIGN.md has the rules for commands.
//
// Into the log and out of it: command.go has the commands and their flags, command_rows.go the table with all commands
// and their feature levels, command_field.go and command_gen.go their fields; encode.go and decode.go write and read a
// batch; log.go is the log interface, membership.go the members in the Raft group behind it.
//
// Definitions: ids.go has the ids and slots, limits.go the limits, kinds.go the object kinds and their commands,
// effect.go the effects, usage.go quotas, group.go the replica group of a rebuilt shard.
//
// Reads: describe.go and reads.go have the views of objects and sessions, changes.go the changes since a revision,
// watches.go one-shot watches, state.go the whole state, in plain form for tests and tools.
package shard
