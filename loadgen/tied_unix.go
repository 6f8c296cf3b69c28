//go:build unix && !linux

package loadgen

import "syscall"

// tied keeps the signals of a terminal from a process.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
