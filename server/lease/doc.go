// Package lease manages one data shard's session leases, on the host that leads the shard.
//
// The package is pure logic: no goroutines, no timers, no I/O. The server reports events with their times to a Table
// (a session began, was attached, a connection closed), asks the table for the sessions that are Due, and proposes
// their ends. A Holder represents one client connection; its sessions may belong to several shards, and so to several
// tables. Freshness reports whether the host may vouch for anything at all.
//
// This package's DESIGN.md defines which messages clients may get, and the call order that the server must follow so
// that no session ends while its client still relies on it, with the proof.
//
// Caveats:
//
//   - Every time passed to the package is a time.Now() from this process, with its monotonic reading; wall clocks are
//     never used. A time is read after its event: after a frame's bytes were read, after a command was applied.
//   - Linux's monotonic clock continues while a process is stopped, and stops while the whole machine is suspended. A
//     suspended host (a closed laptop, a virtual machine paused and resumed) does not notice: until its window ends,
//     the host may vouch for sessions that another leader has ended meanwhile. Do not suspend hosts, nor clients that
//     rely on leases; the fencing token returned by every acquire protects against such a host.
//   - Config.Grace is called with the table's lock held. It must be quick and must not call the table.
package lease
