// Package inbox pushes inbox items to the members of coordination processes, over the connections on which sessions
// opened inboxes. It serves one shard, at the shard's leader.
//
// Start here: Table (table.go). Open begins a delivery, and the apply path calls Note and Deliver (deliver.go). The
// machine keeps the inboxes. This package remembers how far an open inbox was pushed, and nothing else: an inbox
// without items costs little, and no goroutine.
package inbox
