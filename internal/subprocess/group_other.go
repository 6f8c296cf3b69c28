//go:build !unix

package subprocess

import (
	"os/exec"
	"syscall"
)

// OwnGroup does nothing: the system has no process groups.
func OwnGroup(*exec.Cmd) {}

func signalGroup(*exec.Cmd, syscall.Signal) {}
