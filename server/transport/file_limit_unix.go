//go:build linux || darwin

package transport

import (
	"fmt"
	"math"
	"syscall"
)

// RaiseFileLimit raises the number of file descriptors of the process to the most the process may ask for, and
// returns the number in force, also after an error. Call RaiseFileLimit once at the start of the process.
func RaiseFileLimit() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return assumedFileLimit, fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Cur >= limit.Max {
		return clampFileLimit(limit.Cur), nil
	}
	raised := limit
	raised.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		return clampFileLimit(limit.Cur), fmt.Errorf("raise the limit of open files from %d to %d: %w",
			limit.Cur, limit.Max, err)
	}
	return clampFileLimit(raised.Cur), nil
}

// fileLimit is the number of file descriptors the process may have open.
func fileLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return assumedFileLimit
	}
	return clampFileLimit(limit.Cur)
}

func clampFileLimit(limit uint64) int {
	return int(min(limit, math.MaxInt32))
}
