// Package outage says what a power failure may leave of files.
//
// A Recorder is a file system that notes what is done to it, on the way to another one. A Disk is what that amounts to at
// one moment: what outlasts a power failure, and what is pending, because nobody has synced it. Of one disk many images
// can be drawn, each what a machine may find that starts again. It is for tests.
//
// The rules:
//
//   - What was written to a file before a sync of it began is on the disk when that sync has returned.
//   - Of what is pending any part may be there, in any order, in sectors of 512 or of 4096 bytes. A file may have
//     become longer without what makes it longer: it holds zeros there.
//   - A name is there for good when its directory was synced. Without that, changes of a directory are lost from the
//     last one backwards and none in between, as file systems with a journal do it; a rename is done or not done.
//   - Files and directories know nothing of each other: a synced file may have no name, and a name no content.
//   - Disks do not lie: what a sync wrote is there, and nothing else has changed.
package outage
