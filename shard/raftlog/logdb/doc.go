// Package logdb is the log store of the Raft engine, on one write-ahead log for all replicas of a host (package wal).
// The engine opens the store through its LogDBFactory, and uses the store through the interface ILogDB.
//
// Start reading at DB. DESIGN.md names the guarantees that the engine relies on, and explains how the guarantees
// survive a crash.
package logdb
