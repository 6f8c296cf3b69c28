package process

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// parent runs what must run on the thread that all processes are children of: they die with that thread.
var parent = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range calls {
			f()
		}
	}()
	return calls
})

// start starts a process that dies with this one.
func start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	parent() <- func() { started <- cmd.Start() }
	return <-started
}
