// Package process implements coordination processes, an object kind in data shards. The members agree on the member
// list, epoch by epoch. One member coordinates the others with requests and replies until the round is complete or the
// next epoch ends it.
//
// Start with Process.Due (epoch.go): the only function that opens an epoch. Members join and leave (member.go), items
// wait in member inboxes (inbox.go), requests and replies are exchanges (exchange.go), a round is prepared, completed
// or failed (round.go), operators act (act.go). DESIGN.md has the exact semantics.
//
// The rules are deterministic: they use no clock, I/O, randomness or goroutine, and no result depends on map order.
// They know neither sessions nor the log. The time is an argument. The caller owns the members, one per joined session,
// and passes members in.
//
// The caller is the rest of the package. kind.go has the store and the command rows, command.go and command_member.go
// the commands, work.go one command from its beginning to the report of all changes, read.go, view.go and counts.go the
// reads, kind_form.go the saved state.
package process
