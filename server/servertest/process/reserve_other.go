//go:build !linux

package process

import (
	"io"
	"net"
)

// portsAreKept tells that a host can listen on a port only when it is held no more.
const portsAreKept = false

// reserve finds a free port of this machine and holds it until what it returns is closed.
func reserve() (address string, held io.Closer, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), l, nil
}
