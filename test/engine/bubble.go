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

// standstill is how much real time may pass without a second of virtual time. Where more does, a goroutine waits for a
// mutex whose holder waits for time. The engine has such: who is sent to while its transport closes waits for the mutex
// that the closing holds, and who needs a term while an entry is read for that of its log reader.
var standstill = time.Minute

// stoodStill is how a process ends whose time stands still.
const stoodStill = 3

// mostVirtual is more time than any world lasts. One that goes on waits for ever.
const mostVirtual = 48 * time.Hour

// lockers are the goroutines of stacks that wait for a mutex.
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

// InBubble runs in a bubble of virtual time, and ends the process with all stacks where that time stands still or does
// not end.
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
