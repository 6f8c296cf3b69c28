package engine

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// standstill is how much real time may pass without a second of virtual time. Where more does, a goroutine waits for a
// mutex whose holder waits for time.
const standstill = 3 * time.Minute

// mostVirtual is more time than any world lasts. One that goes on waits for ever.
const mostVirtual = 48 * time.Hour

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
			fmt.Fprintf(os.Stderr, "%v: time stands still, or does not end, after %d s\n%s", title, seconds.Load(),
				all[:runtime.Stack(all, true)])
			os.Exit(3)
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
