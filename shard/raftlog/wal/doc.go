// Package wal implements a host's write-ahead log, shared by all its replicas. It handles records, segments, checksums
// and syncs; only the log's Owner interprets records.
//
// Records are appended to memory, and are durable when Sync has returned. All callers waiting at the same time share
// one write and one sync. The files are segments, which are removed oldest first. Before a segment is removed, its
// needed records are appended again.
//
// Start reading at Log. DESIGN.md describes the files, and explains why a log opens after any power failure, but never
// with a damaged file.
package wal
