//go:build unix

package loadgen

import (
	"fmt"
	"syscall"
	"time"
)

// spareFiles is the number of file descriptors for everything except a run's connections.
const spareFiles = 256

// enoughFiles checks whether the given number of connections can be open. The Go runtime has already raised the
// process's limit to its maximum.
func enoughFiles(connections int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil // opening the connections reports the limit
	}
	if uint64(connections)+spareFiles > uint64(limit.Cur) {
		return fmt.Errorf("loadgen: %d connections: this process may have %d files open; raise that with ulimit -n",
			connections, limit.Cur)
	}
	return nil
}

// cpuSeconds returns the CPU time this process has used.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
