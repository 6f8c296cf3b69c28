//go:build unix

package subprocess

import (
	"os/exec"
	"syscall"
)

// OwnGroup gives a program its own process group, before launch. An interrupt at the terminal then reaches this
// process alone, which stops its programs in order. Kill and End also reach the processes started by the program.
func OwnGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// signalGroup signals the group of a program, if the program has its own group. A group exists as long as a process
// of the group exists.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Setpgid {
		_ = syscall.Kill(-cmd.Process.Pid, s)
	}
}
