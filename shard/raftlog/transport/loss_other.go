//go:build !linux

package transport

import "net"

// boundLoss does nothing: this operating system has no such bound for one connection.
func boundLoss(net.Conn) {}
