//go:build !linux

package subprocess

import (
	"io"
	"net"
)

// portsAreKept says that a process can listen on a port only when it is not reserved any more.
const portsAreKept = false

// reserve finds a free port of this machine and reserves it until what it returns is closed.
func reserve() (address string, held io.Closer, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), l, nil
}
