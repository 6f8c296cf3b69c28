// Package logdb is the Raft engine's log store, on one write-ahead log for all replicas on a host (package wal). The
// engine opens the store through its LogDBFactory, and uses the store through the interface ILogDB.
//
// Start reading at DB. DESIGN.md lists the guarantees the engine relies on, and explains how the guarantees survive a
// crash.
package logdb
