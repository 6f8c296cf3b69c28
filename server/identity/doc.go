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
//	...                                        // open the log
//	err = directory.Started()                  // from now on the log must be there
//
// The identity is a small JSON file with a version and a checksum. It is written whole or not at all, so
// a crash leaves either what was there or what is new. A directory with other things in it and no
// identity is refused, and stays untouched.
//
// A host that has forgotten what it confirmed must not come back as if nothing had happened: it would vote again where
// it has voted. Three things show it. A directory that is new has another incarnation than the one that others know. A
// log that is gone is missed where Started was noted. And an older copy of a directory counts a start that others have
// seen already: Peers remembers the newest start of each of them.
package identity
