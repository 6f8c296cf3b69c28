// Package rollout implements staged rollouts, an object kind in data shards. Versions reach locations in a fixed order.
// A location waits until the instances in the previous location have reached the version, plus a delay.
//
// Start with Rollout.advance (advance.go): the only function that assigns targets automatically. Everything else either
// changes the input to these decisions (instances join, report and leave: instance.go; versions: version.go; gates:
// gate.go; the source: source.go) or is an operator's action (act.go). DESIGN.md has the exact semantics.
//
// The rules are deterministic: they use no clock, I/O, randomness or goroutine, and no result depends on map order.
// They know neither sessions nor the log nor the rollout's name. The time is an argument. The caller owns the
// instances, one per joined session, and passes instances in.
//
// The caller is the rest of the package. kind.go has the store and the command rows, command.go and session_part.go the
// commands, work.go one command from its beginning to the report of all changes, read.go, view.go and counts.go the
// reads, kind_form.go the saved state.
package rollout
