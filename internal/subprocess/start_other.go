//go:build !linux

package subprocess

import "os/exec"

// Start starts a program.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
