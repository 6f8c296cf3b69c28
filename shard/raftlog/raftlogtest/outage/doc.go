// Package outage computes which file contents a power failure may leave.
//
// A Recorder is a file system that records each change and passes the change on to another file system. A Disk is the
// result at one moment: durable changes, and pending changes without a sync. Many images can be drawn of one disk, and
// each image is a possible sight for a machine that starts again. The package is for tests.
//
// The rules:
//
//   - Bytes written to a file before the beginning of a sync are on the disk when the sync has returned.
//   - Any piece of the pending bytes may be on the disk, in any order, in sectors of 512 or of 4096 bytes. A file may
//     have become longer without the bytes at its new end: the file holds zeros there.
//   - A name is durable after a sync of its directory. Without a sync, changes of a directory are lost from the last
//     change backwards and no change in between, as in file systems with a journal; a rename is done or not done.
//   - Files and directories are independent: a synced file may have no name, and a name no content.
//   - Disks are correct: the bytes of a sync are on the disk, and nothing else has changed.
package outage
