//go:build !linux

package subprocess

import (
	"io"
	"net"
)

// PortsAreKept says that a process can listen on a port only when it is not reserved any more.
const PortsAreKept = false

// Reserve finds a free port of this machine and reserves it until what it returns is closed.
func Reserve() (address string, held io.Closer, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), l, nil
}
