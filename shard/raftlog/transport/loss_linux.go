package transport

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// boundLoss ends a connection after lossTimeout without an acknowledgement for sent bytes. After lost packets TCP
// resends with pauses that double, so a connection that survived a ten-second partition would stay silent for ten more
// seconds afterwards. A new connection works at once.
func boundLoss(conn net.Conn) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	// A kernel that refuses the option keeps its own bound.
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(lossTimeout.Milliseconds()))
	})
}
