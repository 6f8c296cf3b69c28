// Package wal implements a host's write-ahead log, shared by all replicas. The log handles records, segments, checksums
// and syncs; only the log's Owner interprets records.
//
// Records are appended to memory, and are durable when Sync has returned. All concurrent callers share a write and a
// sync. The files are segments, removed oldest first. Before removing a segment, the log appends the needed records
// again.
//
// Start reading at Log. DESIGN.md describes the files, and explains why a log opens after any power failure, but never
// with a damaged file.
package wal
