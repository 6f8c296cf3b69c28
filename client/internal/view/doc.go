// Package view is the watches of a client: one at a host for all loops that watch the same semaphore, or the same view
// of an object of another kind, and the immutable views that it leads to.
//
// Start reading at Watches.Views in shared.go; stream.go and view.go have what a host sends, list.go the list of owners
// or rows that views share.
package view
