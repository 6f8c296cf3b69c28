//go:build unix && !linux

package process

import "syscall"

// Pause stops the process in its tracks. It goes on with SIGCONT.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }
