// Package shard is the contract of a data shard: the log interface, the commands in the log, the effects of applying
// commands, and reads. Package shard/machine has the state machine that applies commands.
//
// A Batch of commands goes in, a list of Effects comes out: the answer to every command, and its consequences (a
// waiter granted, a semaphore changed, a session ended), in the order in which users must see them.
//
// Names and data inside Effects and read results are copies, or shared with the machine, and never change; do not write
// to them.
//
// # Where to find what
//
// DESIGN.md has the rules that commands follow.
//
// Into the log and out of it: command.go has the commands and their flags, command_rows.go the table of all of them
// with the feature level of each, command_field.go and command_gen.go their fields; encode.go and decode.go write and
// read a batch; log.go is the interface of the log, membership.go the members of the Raft group behind it.
//
// Words: ids.go has the ids and slots, limits.go the limits, kinds.go the kinds of objects and their commands,
// effect.go the effects, usage.go quotas, group.go the group of replicas of a shard that was rebuilt.
//
// Reads: describe.go and reads.go have the views of objects and sessions, changes.go what changed since a revision,
// watches.go one-shot watches, state.go the whole state, written out for tests and tools.
package shard
