// Package conn is one connection of a client to a host: dialling and handshake, frames, the requests that wait for
// answers, and the pings that keep the connection and the sessions alive. The package knows nothing of other hosts,
// and of a session only the pushes that are for the session.
//
// Start reading at Conn in conn.go; loops.go has the goroutines that write and read the connection, token.go the
// exception to the two.
package conn
