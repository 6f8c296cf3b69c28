// Package identity is what a data directory knows about itself: which host of which cluster it belongs
// to, and what was fixed when the cluster was born.
//
// A directory is claimed, then settled:
//
//	directory, err := identity.Claim(dir)      // one process at a time
//	defer directory.Release()
//	id, err := directory.LoadOrCreate(want)          // what is there, or what is wanted where nothing is
//	...                                        // open the log
//	err = directory.Started()                  // from now on the log must be there
//
// The identity is a small JSON file with a version and a checksum. It is written whole or not at all, so
// a crash leaves either a new directory or one with its identity. A directory with other things in it and no
// identity is refused, and stays untouched.
//
// A host that lost its log must not come back under its name as if nothing had happened: it would vote
// again where it has voted, and deny what it has confirmed. Started marks the moment from which that would
// be so.
package identity
