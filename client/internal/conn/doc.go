// Package conn is one connection from a client to a host: dial and handshake, frames, pending requests, and the pings
// that keep connection and sessions alive. A conn knows no other host, and handles only the pushes of a session.
//
// Start reading at Conn in conn.go; loops.go has the goroutines that write and read the connection, token.go the
// exception to the two.
package conn
