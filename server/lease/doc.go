// Package lease has the session leases of one data shard, at the host that leads the shard.
//
// The package is logic only: no goroutine, no timer, no I/O. The server reports events with their times to a Table (a
// session began, was attached, a connection went), asks the table for the sessions that are Due, and proposes their
// ends. A Holder stands for one client connection; its sessions may be of several shards, so of several tables.
// Freshness reports whether this host may vouch for anything at all.
//
// DESIGN.md of this package says which messages clients may get, and in which order the server must make its calls so
// that no session ends while its client still believes in it, with the proof.
//
// Caveats:
//
//   - Every time given to the package is a time.Now() of this process, with its monotonic reading; wall clocks play
//     no part. A time is read after its event: after the bytes of a frame were read, after a command was applied.
//   - The monotonic clock of Linux runs on while a process is stopped, and stands still while the whole machine is
//     suspended. A host that was suspended (a laptop's lid, a virtual machine paused and resumed) does not notice:
//     until its window ends the host may vouch for sessions that another leader has ended meanwhile. Do not suspend
//     hosts, nor clients that rely on leases; the fencing token of every acquire guards against such a host.
//   - Config.Grace is called with the table's lock held. It must be quick and must not call the table.
package lease
