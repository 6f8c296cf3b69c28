package child

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// awaitExit waits for a process's end, without reaping it: until it is reaped, its process and group ids are not
// reused.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// childInfo is what waitid reports about a child. The fields after code are aligned like pointers.
type childInfo struct {
	signal, errno, code int32
	fields              struct {
		_      [0]uintptr
		pid    int32
		user   uint32
		status int32
	}
	_ [unsafe.Sizeof(unix.Siginfo{})]byte
}

// waitid codes.
const (
	childStopped   = 5
	childContinued = 6
)

// change returns the command's next change since the last call, and the signal for a stop.
func (p *Process) change() (c Change, by syscall.Signal, ok bool) {
	var info childInfo
	const what = unix.WSTOPPED | unix.WCONTINUED | unix.WNOHANG
	err := unix.Waitid(unix.P_PID, p.group(), (*unix.Siginfo)(unsafe.Pointer(&info)), what, nil)
	if err != nil || info.signal == 0 {
		return 0, 0, false
	}
	switch info.code {
	case childStopped:
		return Stopped, syscall.Signal(info.fields.status), true
	case childContinued:
		return Continued, 0, true
	}
	return 0, 0, false
}

// stopSelf stops signalbox, and returns after it is continued. The signal is for the calling thread, which receives
// it before the next instruction.
func stopSelf() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), syscall.SIGSTOP)
}

// parentOf returns a process's parent, 0 if unknown.
func parentOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The program name is in brackets, and may contain brackets and blanks. The state follows, and then the parent.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1]) // a number, or 0
	return parent
}
