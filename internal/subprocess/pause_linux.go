package subprocess

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pause stops the process with SIGSTOP, and returns once all its threads have stopped. SIGCONT resumes the process.
func (p *Process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err := error(unix.EINTR)
	for err == unix.EINTR {
		// The system reports the stop when the last thread has stopped.
		err = unix.Waitid(unix.P_PID, p.PID(), nil, unix.WSTOPPED|unix.WNOWAIT, nil)
	}
	if err != nil {
		return fmt.Errorf("process: wait until %s is paused: %w", p.Name, err)
	}
	return nil
}

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }
