// Package outage computes possible file contents after a power failure.
//
// A Recorder is a file system that records each change and forwards it to another file system. A Disk is the result at
// one time: durable changes, and pending changes without a sync. Many images can be drawn from one disk, and each image
// is a possible view of a restarted machine. The package is for tests.
//
// The rules:
//
//   - Bytes written to a file before the start of a sync are on the disk when the sync has returned.
//   - Any piece of the pending bytes may be on the disk, in any order, in sectors of 512 or of 4096 bytes. A file may
//     have become longer without the bytes at its new end: the file holds zeros there.
//   - A name is durable after a sync of its directory. Without a sync, directory changes are lost from the last change
//     backwards and no change in between, as in file systems with a journal; a rename is done or not done.
//   - Files and directories are independent: a synced file may have no name, and a name no content.
//   - Disks are correct: synced bytes are on the disk, and nothing else has changed.
package outage
