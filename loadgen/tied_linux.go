package loadgen

import "syscall"

// tied keeps the signals of a terminal from a process, and ends it when this process does, however that ends.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
