//go:build !linux

package transport

import "net"

// boundLoss does nothing: this operating system has no bound for a single connection.
func boundLoss(net.Conn) {}
