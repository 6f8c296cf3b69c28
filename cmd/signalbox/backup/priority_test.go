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

// TestABackupGivesWay: with all of its threads, also those that come later. It runs in a process of its own, since what
// has given way stays so.
func TestABackupGivesWay(t *testing.T) {
	const within = "SIGNALBOX_TEST_GIVE_WAY"
	if os.Getenv(within) != "" {
		giveWay()
		const more = 20
		running, end := make(chan struct{}), make(chan struct{})
		defer close(end)
		for range more {
			go func() {
				runtime.LockOSThread() // so each has a thread of its own
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
			// A test that runs with a higher value already has nothing to lower.
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
