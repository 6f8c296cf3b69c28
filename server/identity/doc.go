// Package identity stores the identity of a data directory: its host and cluster, the facts fixed at bootstrap, and the
// start count of the host.
//
// A directory is claimed, then loaded or made, and bootstrapped once:
//
//	directory, err := identity.Claim(dir)      // one process at a time
//	defer directory.Release()
//	id, err := directory.Load(want)            // ErrNone: the directory is new
//	err = directory.Make(want)                 // an incarnation, and no cluster
//	err = directory.BootstrapAlone(...)        // or Bootstrap, with others: package bootstrap; or Join: package join
//	start, err := directory.Begin()            // one more with each start
//	...                                        // open the log, which ends at LogEnd at least
//	err = directory.Started()                  // from now on the log must be there
//	err = directory.Anchor(end, false)         // again and again while the log grows, and at its end
//	err = directory.NoteLevel(level)           // together with Anchor
//
// The identity is a small JSON file with a version and a checksum. The file is written whole or not at all, so a
// crash leaves either the old file or the new file. A directory with foreign files and without identity is refused,
// and stays untouched.
//
// A host that has forgotten its confirmations must not come back as if nothing had happened: such a host would vote
// again in terms in which it has voted. A new directory has a new incarnation, unknown to other hosts. A lost log is
// missed after Started was noted. The anchor shows a copy, and a log that ends too early. And other hosts find out an
// older copy, because Peers remembers the newest start and the confirmations of a host. DESIGN.md says how much can
// be known, the rules, and what cannot be known.
package identity
