package child

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the command killed when this process ends, however it does.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// awaitExit waits for a process to end, and leaves it there: its id, and that of its group, stay its own
// until it is reaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// keepGoing has a command that was stopped from its terminal go on: the shell that would continue it does not
// know it, and a lock is for those who move. It returns what ends that.
func (p *Process) keepGoing() (stop func()) {
	if p.terminal == nil {
		return func() {}
	}
	changes, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changes, syscall.SIGCHLD)
	go func() {
		for {
			select {
			case <-changes:
				var info unix.Siginfo
				err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
				if err == nil && info.Signo != 0 {
					p.Signal(syscall.SIGCONT)
				}
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changes)
		close(over)
	}
}
