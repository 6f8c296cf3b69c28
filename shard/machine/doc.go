// Package machine is the state machine of a data shard.
//
// The machine is pure. It does no I/O, reads no clock, starts no goroutine and draws no random number: its state
// follows from its commands and their order alone. Whatever needs time is a command that a leader proposes
// (SessionsExpire, Due).
//
// Caveats:
//
//   - Apply and the reads may run side by side; two Apply calls may not. The log that feeds a machine
//     calls Apply from one goroutine at a time.
//   - Handles into the machine's memory never leave it: two replicas show equal results even where their memory is laid
//     out differently.
//
// # Where to find what
//
// The rules are in shard/DESIGN.md.
//
// Through the machine: machine.go applies a batch; core.go has the parts of the machine's content, each a type with
// rules of its own, and run.go the command under way and its outcome; kind.go has the interface of a kind of objects,
// and runs commands; pending.go continues work where a bound cut it off. upkeep.go has the commands that leaders
// propose by themselves, alarm.go the time of the shard and what waits for it, reconcile.go the sessions of other
// shards, regenerate.go the state of a cluster made from a backup, renew.go the state of a shard that lost its
// majority.
//
// Sessions and answers: session.go; number_space.go gives streams of a gateway their numbers; answer.go keeps the
// result of each mutation, with a hash of the request, until its session acknowledges it, answer_body.go the longer
// ones, answer_record.go their place in a snapshot.
//
// Objects of any kind: node.go, object.go, and holding.go for one session's part in an object; view.go for what of an
// object is described by itself; quota.go counts and limits.
//
// Each kind of objects is a package: shard/semaphore, shard/rollout, shard/process. Package shard/kinds lists all
// kinds. Package machinetest drives machines in the tests of this package and of the kinds.
//
// Reads: describe.go, list.go and walk.go; changes.go and history.go say what changed since a revision.
//
// Snapshots: snapshot.go fixes a moment, save.go writes the file and restore.go reads it, record.go has the record of
// each thing; digest.go compares replicas, state.go writes everything out for tests and tools.
//
// Memory: package shard/internal/arena has slabs of places under handles, strings without pointers, tables that find
// handles by hash, and trees that order them.
package machine
