// Package cluster is the hosts that a client knows: which there are, the connections to them, which shard is where,
// and the requests that may be sent again to any of them.
//
// Start reading at Do in request.go: it chooses a host (target.go) by the routing (routes.go), gets a connection from
// it (host.go), and after a failure asks for the routing again (refresh.go).
package cluster
