// Package cluster manages connections to hosts, the routing from shards to hosts, and requests that any host may
// answer.
//
// Start reading at Do in request.go: Do chooses a host by the routing (routes.go), gets a connection to the host
// (dial.go), and after a failure asks for the routing again (refresh.go).
package cluster
