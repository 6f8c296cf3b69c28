// Package shard is one shard of Signalbox: the state machine of a data shard, its commands and effects, and the
// interface of the log that feeds it.
//
// The machine is pure. It does no I/O, reads no clock, starts no goroutine and draws no random number: its state
// follows from its commands and their order alone. Whatever needs time is a command that a leader proposes
// (SessionsExpire, WaitersTimeOut).
//
// A Batch of commands goes in, a list of Effects comes out: the answer to every command, and its consequences (a
// waiter granted, a semaphore changed, a session ended), in the order in which users must see them.
//
// Caveats:
//
//   - Apply and the reads may run side by side; two Apply calls may not. The log that feeds a machine
//     calls Apply from one goroutine at a time.
//   - Names and data inside Effects and read results are copies, or shared with the machine, and never change;
//     do not write to them.
//   - Handles into the machine's memory never leave the package: two replicas show equal results even where their
//     memory is laid out differently.
//
// # Where a thought lives
//
// The files follow the way of a command. DESIGN.md has the rules.
//
// Into the log and out of it: command.go has the kinds of commands and their flags, command_field.go and command_gen.go
// their fields, level.go the feature level of each; encode.go and decode.go write and read a batch; log.go is
// the interface of the log, membership.go the members of the Raft group behind it.
//
// Through the machine: machine.go applies a batch; kind.go has one row for each kind of objects, and runs the command
// of the row; effect.go collects what happened; limits.go bounds a command's work, and pending.go continues where a
// bound cut it off. ids.go has the ids and slots. upkeep.go has the commands that leaders propose by themselves
// and the time of the shard, reconcile.go the guests from other shards, regenerate.go the state of a cluster made
// from a backup, renew.go the state of a shard that lost its majority.
//
// Sessions and answers: session.go; number_space.go gives streams of a gateway their numbers; answer.go keeps the
// result of each mutation, with a hash of the request, until its session acknowledges it, answer_body.go the longer
// ones, answer_record.go their place in a snapshot.
//
// Objects of any kind: node.go, object.go, and link.go for one session's part in an object; view.go and part.go for
// what of an object is described by itself; quota.go counts and limits.
//
// Semaphores: semaphore.go is the kind, semaphore_command.go its commands, semaphore_acquire.go, semaphore_release.go
// and semaphore_timeout.go the rules, semaphore_read.go and semaphore_form.go reads and saved state.
//
// Rollouts and processes, whose rules are packages of their own (shard/rollout, shard/process): rollout.go and
// process.go are the kinds; rollout_command.go, rollout_instance.go, process_command.go and process_member.go the
// commands; rollout_work.go and process_work.go let the rules act on the machine; rollout_read.go, rollout_view.go,
// rollout_counts.go, process_read.go, process_view.go and process_counts.go the reads; rollout_form.go and
// process_form.go the saved state.
//
// Reads and watches: describe.go, list.go and walk.go read; changes.go and history.go say what changed since a
// revision; watches.go holds one-shot watches.
//
// Snapshots: snapshot.go fixes a moment, save.go writes the file and restore.go reads it, record.go has the record of
// each thing; digest.go compares replicas, state.go writes everything out for tests and tools.
//
// Memory: package shard/internal/arena has slabs of places under handles, strings without pointers, tables that find
// handles by hash, and trees that order them.
package shard
