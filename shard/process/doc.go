// Package process has the rules of one coordination process: its members agree, epoch by epoch, on the list of members.
// One member coordinates the others by requests and replies until the round is complete, or the next epoch ends the
// round.
//
// Start with Process.Due (epoch.go): the only place where an epoch opens. Members join and leave (member.go), items
// wait in the inboxes of members (inbox.go), requests and replies are exchanges (exchange.go), a round is prepared,
// completed or failed (round.go), operators act (act.go). DESIGN.md has the exact semantics.
//
// The package is pure: no clock, no I/O, no randomness, no goroutine, and no result that depends on the order of a map.
// The package knows neither sessions nor the log. The time is an argument. The caller owns the members, one per joined
// session, and passes members in.
package process
