// Package conn is one connection of a client to a host: its dialling and handshake, frames, the requests that wait for
// answers, and the pings that keep it and its sessions alive. It knows nothing of other hosts, and of a session only
// that pushes are for it.
//
// Start reading at Conn in conn.go; loops.go has the goroutines that write and read it, token.go the exception to
// them.
package conn
