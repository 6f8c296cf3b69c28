//go:build linux || darwin

package transport

import (
	"fmt"
	"math"
	"syscall"
)

// RaiseFileLimit raises the process's file descriptor limit to the allowed maximum. RaiseFileLimit returns the
// effective limit, even with an error. Call it once at process start.
func RaiseFileLimit() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return assumedFileLimit, fmt.Errorf("cannot read the open file limit: %w", err)
	}
	if limit.Cur >= limit.Max {
		return clampFileLimit(limit.Cur), nil
	}
	raised := limit
	raised.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		return clampFileLimit(limit.Cur), fmt.Errorf("cannot raise the open file limit from %d to %d: %w",
			limit.Cur, limit.Max, err)
	}
	return clampFileLimit(raised.Cur), nil
}

// fileLimit returns the process's file descriptor limit.
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
