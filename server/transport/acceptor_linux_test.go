package transport

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestNoFileDescriptorLeftIsSurvived temporarily lowers the test process's limit, and so must not run in parallel with
// other tests.
func TestNoFileDescriptorLeftIsSurvived(t *testing.T) {
	for _, s := range setups {
		if !s.socket() {
			continue
		}
		// With one descriptor left, a connection is accepted, and fails if it needs a second descriptor.
		for _, left := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s/%d left", s.name, left), func(t *testing.T) {
				survive(t, s, left)
			})
		}
	}
}

func survive(t *testing.T, s setup, left int) {
	stats := new(Stats)
	echo := handlerFunc(func(c Conn) Events { return &lineEcho{conn: c} })
	listener, err := listenWith(s.name, echo, 0, stats)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	// Sockets that need no further descriptor to connect.
	const clients = 8
	port := listener.Addr().(*net.TCPAddr).Port
	var sockets []int
	for range clients {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(fd)
		sockets = append(sockets, fd)
	}
	raise := lowerFileLimit(t, left)
	for _, fd := range sockets {
		err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(patience); stats.AcceptErrors.Load() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("there seem to be descriptors enough")
		}
		time.Sleep(time.Millisecond)
	}
	raise()
	conn, err := s.dial(listener)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte("alive\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
}

// lowerFileLimit leaves the process the given number of free descriptors; the result restores the limit.
func lowerFileLimit(t *testing.T, left int) (raise func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	// Fill the gaps below the highest used descriptor, so that the limit can be right above it.
	var fillers []*os.File
	highest := 0
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		fillers = append(fillers, f)
		if fd := int(f.Fd()); fd == highest+1 && len(fillers) > 64 {
			highest = fd
			break
		} else {
			highest = max(highest, fd)
		}
	}
	low := before
	low.Cur = uint64(highest + 1 + left)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	raised := false
	raise = func() {
		if raised {
			return
		}
		raised = true
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
		for _, f := range fillers {
			_ = f.Close()
		}
	}
	t.Cleanup(raise)
	return raise
}
