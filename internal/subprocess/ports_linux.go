package subprocess

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"syscall"
)

// portsAreKept reports whether a process can listen on a reserved port.
const portsAreKept = true

// reserve finds a free local port and reserves it until held is closed or garbage collected. The held socket is bound
// but does not listen. So the system assigns the port neither to listeners on an arbitrary port nor to outgoing
// connections, but a process can listen on the port by number.
func reserve() (address string, held io.Closer, err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, err
	}
	held = os.NewFile(uintptr(socket), "port")
	defer func() {
		if err != nil {
			_ = held.Close()
		}
	}()
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", nil, err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", nil, err
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return "", nil, err
	}
	at, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return "", nil, fmt.Errorf("a socket is bound to %T", bound)
	}
	return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)).String(), held, nil
}
