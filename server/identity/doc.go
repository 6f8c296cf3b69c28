// Package identity is what a data directory knows about itself: which host it is, of which cluster, what was fixed when
// the cluster was born, and how often the host was started on it.
//
// A directory is claimed, then loaded or made, and born once:
//
//	directory, err := identity.Claim(dir)      // one process at a time
//	defer directory.Release()
//	id, err := directory.Load(want)            // ErrNone: it is new
//	err = directory.Make(want)                 // it has an incarnation, and no cluster
//	err = directory.BearAlone(...)             // or Bear, with others: package birth; or Join: package join
//	start, err := directory.Begin()            // one more with each start
//	...                                        // open the log, which ends at LogEnd at least
//	err = directory.Started()                  // from now on the log must be there
//	err = directory.Anchor(end, false)         // again and again while the log grows, and at its end
//	err = directory.NoteLevel(level)           // with it
//
// The identity is a small JSON file with a version and a checksum. It is written whole or not at all, so
// a crash leaves either what was there or what is new. A directory with other things in it and no
// identity is refused, and stays untouched.
//
// A host that has forgotten what it confirmed must not come back as if nothing had happened: it would vote again where
// it has voted. A directory that is new has another incarnation than the one that others know. A log that is gone is
// missed where Started was noted. The anchor shows a copy, and a log that ends too early. And of an older copy others
// have seen a later start, or more that it confirmed: Peers remembers both. DESIGN.md says what is known of all this,
// the rules, and what cannot be known.
package identity
