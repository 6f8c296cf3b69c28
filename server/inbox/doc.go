// Package inbox pushes to the members of coordination processes what they have to handle, over the connections that
// their sessions opened it on: for one shard, at the host that leads it.
//
// Start here: Table (table.go). Open begins a delivery, Note and Deliver are called where batches are applied, and
// deliver.go has what is pushed when. The machine keeps the inboxes; this package remembers for each that is open only
// how far it was pushed, so that it costs little where nothing happens, and no goroutine.
package inbox
