package process

import "os/exec"

// Start starts a program that, on Linux, dies with this one.
func Start(cmd *exec.Cmd) error { return start(cmd) }
