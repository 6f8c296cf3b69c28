//go:build !unix

package loadgen

import "syscall"

// tied does nothing where there are no groups of processes.
func tied() *syscall.SysProcAttr { return nil }
