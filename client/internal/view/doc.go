// Package view has the watches of a client. Loops over the same semaphore, or over the same view of an object, share
// one watch at a host and its immutable views.
//
// Start reading at Watches.Views in shared.go; stream.go and view.go have the messages of a host, list.go the list of
// owners or rows that views share.
package view
