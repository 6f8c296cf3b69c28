package subprocess

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starter calls functions on the parent thread for all processes, because the processes are killed when that thread
// ends.
var starter = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range calls {
			f()
		}
	}()
	return calls
})

// Start starts a program. The program is killed when this process ends.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	return <-started
}
