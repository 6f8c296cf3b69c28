// Package datadir reads the data directory of a stopped host.
//
// The package writes nothing. While a Directory is open no host can start on the directory. Where a host runs on the
// directory already, only the safe parts are read: the identity, and the names and sizes of files, because a host that
// runs replaces snapshots at any time.
//
// Changes after the newest snapshot of a shard are in the log. ReadLog says which entries the log has of each replica,
// and whether a file is damaged or missing; only the host itself reads the content of entries.
package datadir
