// Package machine implements the state machine for a data shard.
//
// The machine is deterministic. It does no I/O, reads no clock, starts no goroutine and draws no random number: its
// state depends only on its commands and their order. If a rule depends on time, a leader proposes a command
// (SessionsExpire, Due).
//
// Caveats:
//
//   - Apply and the reads may run side by side; two Apply calls may not. The log that feeds a machine
//     calls Apply from one goroutine at a time.
//   - Memory handles never leave the machine: two replicas return equal results even if their memory
//     layout differs.
//
// # Where to find what
//
// The rules are in shard/DESIGN.md.
//
// Through the machine: machine.go applies a batch; core.go has the parts that make up the machine, each a type with
// rules of its own; run.go has the command in progress and its outcome; kind.go has the interface for object kinds, and
// runs their commands; pending.go continues work a bound interrupted. upkeep.go has the commands that leaders propose
// on their own, alarm.go shard time and everything that waits for it, reconcile.go remote sessions, regenerate.go the
// state for a cluster restored from a backup, renew.go the state for a shard that lost its quorum.
//
// Sessions and answers: session.go; number_space.go issues number ranges to gateway streams; answer.go keeps each
// mutation's result, with a request hash, until the session acknowledges it; answer_body.go has the longer results,
// answer_record.go their encoding in a snapshot.
//
// Objects: node.go, object.go, and holding.go for one session's part in an object; view.go for the object parts that
// are described separately; quota.go counts and limits.
//
// Slots: slot.go carries out the commands that move a slot between shards, slot_pack.go saves a slot's content,
// slot_merge.go merges it; slot_set.go has the slots in which each session has used numbers; slot_read.go has the
// reads.
//
// Each object kind is a package: shard/semaphore, shard/rollout, shard/process. Package shard/kinds lists all kinds.
// Package machinetest drives machines in the tests for this package and for the kinds.
//
// Reads: describe.go, list.go and walk.go; changes.go and history.go report changes since a revision.
//
// Snapshots: snapshot.go fixes a state, save.go writes the file and restore.go reads it, record.go encodes each entry;
// digest.go compares replicas, state.go writes out everything for tests and tools.
//
// Memory: package shard/internal/arena has slabs of entries under handles, strings without pointers, hash tables over
// handles, and trees that sort them.
package machine
