// Package conn implements one client connection to a host: dial and handshake, frames, pending requests, and the pings
// that keep connection and sessions alive. A conn knows no other host and handles only a session's pushes.
//
// Start reading at Conn in conn.go. loops.go has the goroutines that write and read the connection, and token.go the
// exception to both.
package conn
