// Package connection implements client connections: frames in, dispatch to handlers, answers and pushes out.
//
//	set.go       all connections on a host, and their periodic reviews
//	conn.go      one connection: incoming frames
//	dispatch.go  from a request to its handler; HELLO, the first request
//	answer.go    the only place that answers; output.go: bytes for the client
//	bindings.go  the sessions that act over a connection
//	ping.go      a pong vouches for a connection's sessions
//	traffic.go   requests by client and by node
//	bounds.go    memory limits across all connections; cut.go: disconnects by the host
package connection
