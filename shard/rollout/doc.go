// Package rollout has the rules of one staged rollout: versions of something reach locations in a given order, each
// with a delay behind the one before it, and only when the instances of the one before have reached them.
//
// Start with Rollout.advance (advance.go): it is the one place where a location gets a target by itself. Everything
// else either changes what it decides by (instances that join, report and leave: instance.go; versions: version.go;
// gates: gate.go; the source: source.go) or is an operator's act (act.go). DESIGN.md has the exact semantics.
//
// The package is pure: no clock, no I/O, no randomness, no goroutine, and nothing that depends on the order of a map.
// It knows nothing of sessions, of the log or of where it is kept. The time is an argument; who calls owns the
// instances, one per session that has joined, and passes them in.
package rollout
