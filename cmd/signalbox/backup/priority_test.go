//go:build linux

package backup

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestABackupGivesWay: every thread lowers its priority, later threads too. The test runs in a separate process because
// the lower priority is permanent.
func TestABackupGivesWay(t *testing.T) {
	const within = "SIGNALBOX_TEST_GIVE_WAY"
	if os.Getenv(within) != "" {
		giveWay()
		const more = 20
		running, end := make(chan struct{}), make(chan struct{})
		defer close(end)
		for range more {
			go func() {
				runtime.LockOSThread() // gives each goroutine a separate thread
				running <- struct{}{}
				<-end
			}()
		}
		for range more {
			<-running
		}
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil || len(threads) < more {
			t.Fatalf("%d threads, %v", len(threads), err)
		}
		for _, thread := range threads {
			stat, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/stat")
			if err != nil {
				continue // it has ended
			}
			_, rest, _ := strings.Cut(string(stat), ") ")
			// If the test already runs with a higher nice value, nothing can be lowered.
			if nice, err := strconv.Atoi(strings.Fields(rest)[16]); err != nil || nice < 10 {
				t.Errorf("a thread has the nice value %d, %v", nice, err)
			}
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestABackupGivesWay$")
	cmd.Env = append(os.Environ(), within+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
