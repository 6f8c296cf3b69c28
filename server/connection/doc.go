// Package connection has the connections of clients: frames in, dispatch to handlers, answers and pushes out.
//
//	set.go       all connections of a host, and the reviews of them in rounds
//	conn.go      one connection: frames in
//	dispatch.go  from a request to its handler, and the first request of all: HELLO
//	answer.go    the one place that answers; output.go: the bytes for the client
//	bindings.go  the sessions that act over a connection
//	ping.go      a pong vouches for the sessions of a connection
//	bounds.go    what all connections may make the host hold; cut.go: the end of a connection
package connection
