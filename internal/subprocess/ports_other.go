//go:build !linux

package subprocess

import (
	"io"
	"net"
)

// portsAreKept says whether a process can listen on a reserved port: here a port must be released first.
const portsAreKept = false

// reserve finds a free local port and reserves it until held is closed.
func reserve() (address string, held io.Closer, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), l, nil
}
