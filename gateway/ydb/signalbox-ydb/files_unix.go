//go:build unix

package main

import (
	"math"
	"syscall"
)

// fileLimit returns the process's open file limit.
func fileLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	return int(min(limit.Cur, math.MaxInt32))
}
