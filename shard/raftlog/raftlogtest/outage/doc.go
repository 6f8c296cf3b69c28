// Package outage says what a power failure may leave of files.
//
// A Recorder is a file system that records what is done to it and passes it on to another one. A Disk is the result at
// one moment: what is durable, and what is pending because it was not synced. Of one disk many images can be drawn:
// each is what a machine may find when it starts again. The package is for tests.
//
// The rules:
//
//   - What was written to a file before a sync of it began is on the disk when that sync has returned.
//   - Of what is pending any piece may be there, in any order, in sectors of 512 or of 4096 bytes. A file may have
//     become longer without what makes it longer: it holds zeros there.
//   - A name is durable when its directory was synced. Without that, changes of a directory are lost from the last one
//     backwards and none in between, as in file systems with a journal; a rename is done or not done.
//   - Files and directories are independent: a synced file may have no name, and a name no content.
//   - Disks are correct: what a sync wrote is there, and nothing else has changed.
package outage
