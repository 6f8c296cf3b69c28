//go:build unix

package subprocess

import (
	"os/exec"
	"syscall"
)

// OwnGroup gives a program its own process group, before launch. A terminal interrupt then only reaches the parent
// process, which stops its programs in order. Kill and End also reach processes started by the program.
func OwnGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// signalGroup signals a program's separate process group, if present. A group exists until its last process has ended.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Setpgid {
		_ = syscall.Kill(-cmd.Process.Pid, s)
	}
}
