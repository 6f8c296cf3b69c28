// Package inbox pushes inbox items to the members of coordination processes, over the connections on which sessions
// opened inboxes. It serves one shard, on the shard's leader.
//
// Start with Table (table.go). Open begins a delivery, and the apply path calls Note and Deliver (deliver.go). The
// machine stores the inboxes. This package only remembers the push position of every open inbox: an inbox without
// items costs little, and no goroutine.
package inbox
