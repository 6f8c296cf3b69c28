//go:build linux

package survival_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var idleFor = flag.Duration("idle", 0, "for how long TestWhatAnIdleHostTakes watches each host; 0: it is skipped")

// TestWhatAnIdleHostTakes logs an idle host's wakeups and processor time, without clients. Other load on the machine
// has little effect on the voluntary wait count.
func TestWhatAnIdleHostTakes(t *testing.T) {
	if *idleFor == 0 {
		t.Skip("make idle runs it")
	}
	for _, names := range [][]string{{"a"}, {"a", "b", "c"}} {
		t.Run(fmt.Sprint(len(names)), func(t *testing.T) {
			hosts := serveAll(t, newPlaces(t, names...))
			time.Sleep(10 * time.Second) // work after a start is not idle work
			var waits, ticks []int
			began := time.Now()
			for _, h := range hosts {
				waits, ticks = append(waits, voluntaryWaits(t, h.PID())), append(ticks, processorTicks(t, h.PID()))
			}
			time.Sleep(*idleFor)
			for i, h := range hosts {
				seconds := time.Since(began).Seconds()
				t.Logf("host %d: %.0f waits and %.1f ms of a processor a second", i+1,
					float64(voluntaryWaits(t, h.PID())-waits[i])/seconds,
					float64(processorTicks(t, h.PID())-ticks[i])*10/seconds) // a tick is 10 ms to all programs
			}
		})
	}
}

// voluntaryWaits returns a process's voluntary context switch count.
func voluntaryWaits(t *testing.T, pid int) (n int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads of process %d: %v", pid, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(text)) {
			if count, is := strings.CutPrefix(line, "voluntary_ctxt_switches:"); is {
				n += atoi(t, count)
			}
		}
	}
	return n
}

// processorTicks returns a process's processor time, in hundredths of a second.
func processorTicks(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return atoi(t, fields[11]) + atoi(t, fields[12]) // user and system time
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
