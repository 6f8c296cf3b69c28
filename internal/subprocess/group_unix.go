//go:build unix

package subprocess

import (
	"os/exec"
	"syscall"
)

// OwnGroup gives a program a process group of its own, before it is launched. An interrupt at the terminal is then for
// this process alone, which stops its programs in order, and Kill and End reach what the program has started.
func OwnGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// signalGroup signals the group of a program, if it has one of its own. The group is there as long as one process of it
// is.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Setpgid {
		_ = syscall.Kill(-cmd.Process.Pid, s)
	}
}
