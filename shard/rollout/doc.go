// Package rollout has staged rollouts, a kind of objects of a data shard. Versions reach locations in a fixed order. A
// location waits until the instances of the location before have reached the version, plus a delay.
//
// Start with Rollout.advance (advance.go): the only place where a location gets a target by itself. Everything else
// either changes the base of these decisions (instances that join, report and leave: instance.go; versions: version.go;
// gates: gate.go; the source: source.go) or is an operator's act (act.go). DESIGN.md has the exact semantics.
//
// The rules are pure: no clock, no I/O, no randomness, no goroutine, and no result that depends on the order of a map.
// They know neither sessions nor the log nor the place of the rollout. The time is an argument. The caller owns the
// instances, one per joined session, and passes instances in.
//
// The caller is the rest of the package. kind.go has the store and the rows of the commands, command.go and
// session_part.go the commands, work.go one command from its beginning to the report of all changes, read.go, view.go
// and counts.go the reads, kind_form.go the saved state.
package rollout
