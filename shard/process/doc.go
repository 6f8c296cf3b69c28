// Package process has the rules of one coordination process: its members agree, epoch by epoch, on who they are; one of
// them coordinates the others by requests and replies until the round is complete, or the next epoch ends it.
//
// Start with Process.Due (epoch.go): it is the one place where an epoch opens. Members join and leave (member.go), what
// they have to handle waits in their inboxes (inbox.go), requests and replies are exchanges (exchange.go), a round is
// prepared, completed or failed (round.go), operators act (act.go). DESIGN.md has the exact semantics.
//
// The package is pure: no clock, no I/O, no randomness, no goroutine, and nothing that depends on the order of a map.
// It knows neither sessions nor the log. The time is an argument; the caller owns the members, one per session that has
// joined, and passes them in.
package process
