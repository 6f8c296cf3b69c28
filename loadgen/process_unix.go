//go:build unix

package loadgen

import (
	"fmt"
	"syscall"
	"time"
)

// spareFiles are for everything but the connections of a run.
const spareFiles = 256

// enoughFiles checks whether the given number of connections can be open. The Go runtime has raised the limit to the
// most the process may have.
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

// cpuSeconds is how much CPU this process has used so far.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
