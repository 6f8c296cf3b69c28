// Package logdb is the log store of the Raft engine, on one write-ahead log for all replicas of a host (package wal).
// The engine opens it through its LogDBFactory, and uses it through the interface ILogDB.
//
// Start reading at DB. DESIGN.md says what the engine relies on, and how that survives a crash.
package logdb
