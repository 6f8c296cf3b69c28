// Package wal is a write-ahead log on a disk: one for all replicas of a host. It knows records, segments, checksums and
// syncs, and nothing of what records mean: that its Owner knows.
//
// Records are appended to memory, and are durable when Sync has returned. All that wait for it at the same time share
// one write and one sync. The files are segments, which are removed from the oldest on. What is still needed of a
// segment that is to be removed is appended again.
//
// Start reading at Log. DESIGN.md says how the files look, and why a log opens on whatever a power failure may leave of
// them but on no file that was damaged.
package wal
