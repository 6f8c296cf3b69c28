// Package datadir reads a stopped host's data directory.
//
// The package writes nothing. While a Directory is open, no host can start with the directory. If a host is already
// running, only the safe parts are read: the identity, and file names and sizes, because a running host replaces
// snapshots at any time.
//
// Changes after a shard's newest snapshot are in the log. ReadLog reports which entries the log contains for every
// replica, and whether a file is damaged or missing; only the host itself reads the entries' content.
package datadir
