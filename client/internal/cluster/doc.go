// Package cluster is the hosts that a client knows: the connections to the hosts, the routing of shards to hosts, and
// the requests that may be sent again to any host.
//
// Start reading at Do in request.go: Do chooses a host by the routing (routes.go), gets a connection to the host
// (dial.go), and after a failure asks for the routing again (refresh.go).
package cluster
