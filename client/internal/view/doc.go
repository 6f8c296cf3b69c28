// Package view is the watches of a client: one watch at a host for all loops over a semaphore, or over one view of an
// object of another kind, and the immutable views that the watch leads to.
//
// Start reading at Watches.Views in shared.go; stream.go and view.go have the messages of a host, list.go the list of
// owners or rows that views share.
package view
