package engine

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// standstill is the maximum real time without a second of virtual time. Beyond this limit, a goroutine must be waiting
// for a mutex whose holder waits for time. The engine has such mutexes: sending to a closing transport waits for the
// mutex held by the close, and reading a term waits for the mutex held by a log reader.
var standstill = time.Minute

// stoodStill is the exit code after a virtual time stall.
const stoodStill = 3

// mostVirtual exceeds the length of any world. A world that continues waits forever.
const mostVirtual = 48 * time.Hour

// lockers are the goroutines in stacks that wait for a mutex.
func lockers(stacks []byte) []byte {
	waits := [][]byte{[]byte(" [sync.Mutex"), []byte(" [sync.RWMutex")}
	var found [][]byte
	for g := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		head, _, _ := bytes.Cut(g, []byte("\n"))
		if slices.ContainsFunc(waits, func(w []byte) bool { return bytes.Contains(head, w) }) {
			found = append(found, g)
		}
	}
	return bytes.Join(found, []byte("\n\n"))
}

// InBubble runs do in a bubble of virtual time, and ends the process with all stacks if virtual time stalls or does not
// end.
func InBubble(t *testing.T, title fmt.Stringer, do func(t *testing.T)) {
	var seconds atomic.Int64
	last, end := int64(-1), make(chan struct{})
	defer close(end)
	go func() {
		watch := time.NewTicker(standstill)
		defer watch.Stop()
		for {
			select {
			case <-end:
				return
			case <-watch.C:
			}
			if now := seconds.Load(); now > last && now < int64(mostVirtual/time.Second) {
				last = now
				continue
			}
			all := make([]byte, 16<<20)
			all = all[:runtime.Stack(all, true)]
			fmt.Fprintf(os.Stderr, "%v: time stands still, or does not end, after %d s\n%s\nall:\n%s", title,
				seconds.Load(), lockers(all), all)
			os.Exit(stoodStill)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		go func() {
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-over:
					return
				case <-tick.C:
					seconds.Add(1)
				}
			}
		}()
		do(t)
	})
}
