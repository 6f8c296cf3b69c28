// Package slots has the rules by which a slot moves from one data shard to another: the states of a slot in a shard,
// the commands that change them, the routing of requests for a slot,  and the table of the meta shard.
//
// Start with Slots.Apply (apply.go): every command of the log goes through Apply. A slot and its states are in
// slot.go, the commands and their form in command.go, the content that travels in parcel.go. Route (route.go)
// decides where a request for a slot is served; table.go has the generations that the meta shard hands out; save.go
// has the form of a snapshot. DESIGN.md has the rules with their reasons, and model_test.go explores every
// interleaving of three moves.
//
// The package is pure: no clock, no I/O, no randomness, no goroutine, and nothing that depends on the order of a
// map. The rules know neither sessions nor objects. The embedding shard packs the content of a slot and takes the
// content in again, through the interface Content.
package slots
