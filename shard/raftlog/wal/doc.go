// Package wal is the write-ahead log of a host, shared by all its replicas. It handles records, segments, checksums and
// syncs; only the log's Owner interprets records.
//
// Records are appended to memory, and are durable when Sync has returned. All callers that wait at the same time share
// one write and one sync. The files are segments, which are removed from the oldest on. Before the removal of a
// segment, its needed records are appended again.
//
// Start reading at Log. DESIGN.md describes the files, and explains why a log opens on everything that a power failure
// may leave, but on no damaged file.
package wal
