// Package datadir reads the data directory of a host that does not run.
//
// It writes nothing. While a Directory is open no host can start on it; where a host runs on it already, only
// what is safe is read: the identity, and the names and sizes of files. A host that runs replaces its snapshots
// at any time.
//
// What was changed after the newest snapshot of a shard is in the log. ReadLog says which entries that has of each
// replica, and whether anything is damaged or missing; what is in them only the host itself reads.
package datadir
