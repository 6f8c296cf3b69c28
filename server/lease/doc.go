// Package lease keeps the books on who is alive, for one data shard at the host that leads it.
//
// It is logic only: no goroutine, no timer, no I/O. The server says to a Table what happened and when
// (a session began, was attached, a connection went), asks it which sessions are Due, and proposes
// what it says. A Holder stands for one client connection; its sessions may be of several shards, so
// of several tables. Freshness reports whether this host may vouch for anything at all.
//
// What may be said to clients, and in which order the server must make its calls so that no session
// ends whose client still believes in it, is in DESIGN.md of this package, with the proof.
//
// Caveats:
//
//   - Every time given to the package is a time.Now() of this process, with its monotonic reading;
//     wall clocks play no part. A time is read after the thing that it is the time of: after the bytes
//     of a frame were read, after a command was applied.
//   - The monotonic clock of Linux runs on while a process is stopped, and stands still while the whole
//     machine is suspended. A host that was suspended (a laptop's lid, a virtual machine paused and
//     resumed) does not notice: until its window ends it may vouch for sessions that another leader has
//     ended meanwhile. Do not suspend hosts, nor clients that rely on leases; the fencing token of every
//     acquire is what guards against it.
//   - Config.Grace is called with the table's lock held. It must be quick and must not call the table.
package lease
