// Package slots has the rules for moving a slot from one data shard to another: a slot's states in a shard, the
// commands that change them, the routing of requests for a slot, and the meta shard's table.
//
// Start with Slots.Apply (apply.go): every command in the log goes through Apply. A slot and its states are in slot.go,
// the moved content in snapshot.go. Route (route.go) decides where a request for a slot is served; table.go has the
// generations the meta shard issues; save.go has the snapshot encoding. DESIGN.md has the rules with their reasons, and
// model_test.go explores every interleaving of three moves.
//
// The package is deterministic: it uses no clock, I/O, randomness or goroutine, and nothing depends on map order. The
// rules know neither sessions nor objects. The embedding shard packs and merges slot content, through the interface
// Content.
package slots
