// Package identity stores a data directory's identity: its host and cluster, the facts fixed at bootstrap, and the
// host's start count.
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
// The identity is a small JSON file with a version and a checksum. The file is written atomically, so after a crash
// either the old or the new file exists. A directory with foreign files and without an identity is refused, and not
// modified.
//
// A host that has lost its confirmations must not return as if nothing had happened, because it would vote again in
// terms in which it has already voted. A new directory has a new incarnation, unknown to remote hosts. A lost log is
// detected after Started was recorded. The anchor detects a copy, and a log that ends too early. Remote hosts detect
// an older copy, because Peers remembers a host's newest start and confirmations. DESIGN.md describes the rules, what
// can be detected, and what cannot.
package identity
