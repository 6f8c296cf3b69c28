//go:build !unix

package loadgen

// enoughFiles knows of no limit: opening the connections reports a limit.
func enoughFiles(int) error { return nil }

// cpuSeconds is 0: the use of CPU is not known.
func cpuSeconds() float64 { return 0 }
