// Package view implements a client's watches. Loops over the same semaphore or object view share a host watch and
// immutable views.
//
// Start reading at Watches.Views in shared.go. stream.go and view.go process host messages, and list.go has the list of
// owners or rows shared by views.
package view
