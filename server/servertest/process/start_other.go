//go:build !linux

package process

import "os/exec"

func start(cmd *exec.Cmd) error { return cmd.Start() }
