// Package rollout has the rules of one staged rollout: versions of something reach locations in a given order. Each
// location has a delay behind the location before, and waits until the instances of the location before have reached
// the version.
//
// Start with Rollout.advance (advance.go): the only place where a location gets a target by itself. Everything else
// either changes the base of these decisions (instances that join, report and leave: instance.go; versions: version.go;
// gates: gate.go; the source: source.go) or is an operator's act (act.go). DESIGN.md has the exact semantics.
//
// The package is pure: no clock, no I/O, no randomness, no goroutine, and no result that depends on the order of a map.
// The package knows neither sessions nor the log nor the place of the rollout. The time is an argument. The caller owns
// the instances, one per joined session, and passes instances in.
package rollout
