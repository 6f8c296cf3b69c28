// Package wal is a write-ahead log on a disk: one log for all replicas of a host. The log knows records, segments,
// checksums and syncs. Only the Owner of the log knows the meaning of records.
//
// Records are appended to memory, and are durable when Sync has returned. All callers that wait at the same time share
// one write and one sync. The files are segments, which are removed from the oldest on. Before the removal of a
// segment, its needed records are appended again.
//
// Start reading at Log. DESIGN.md describes the files, and explains why a log opens on everything that a power failure
// may leave, but on no damaged file.
package wal
