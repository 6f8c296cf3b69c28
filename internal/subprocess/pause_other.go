//go:build unix && !linux

package subprocess

import "syscall"

// Pause stops the process with SIGSTOP. It goes on with SIGCONT.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }

// Resume lets a process go on that Pause has stopped.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }
