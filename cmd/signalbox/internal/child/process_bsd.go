//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package child

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitExit waits for a process's end, without reaping it.
func awaitExit(pid int) {
	for {
		queue, err := unix.Kqueue()
		if err != nil {
			return // the reaper waits
		}
		change := unix.Kevent_t{Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}
		unix.SetKevent(&change, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
		_, err = unix.Kevent(queue, []unix.Kevent_t{change}, make([]unix.Kevent_t, 1), nil)
		_ = unix.Close(queue)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// change reports nothing, because stopped commands are not detected on this operating system.
func (p *Process) change() (c Change, by syscall.Signal, ok bool) { return 0, 0, false }

// stopSelf stops signalbox, and returns after it is continued.
func stopSelf() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-continued
	}
}

// parentOf only knows signalbox's parent.
func parentOf(int) int { return 0 }
