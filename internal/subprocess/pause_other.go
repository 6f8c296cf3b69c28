//go:build unix && !linux

package subprocess

import "syscall"

// Pause stops the process with SIGSTOP. SIGCONT resumes the process.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }
