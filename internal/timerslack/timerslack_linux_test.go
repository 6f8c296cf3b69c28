package timerslack

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ensured is the variable that makes the test's program ensure a timer slack and print the result.
const ensured = "TIMERSLACK_TEST"

func TestMain(m *testing.M) {
	wanted, err := time.ParseDuration(os.Getenv(ensured))
	if err != nil {
		os.Exit(m.Run())
	}
	Ensure(wanted)
	_, again := os.LookupEnv(begunAgain)
	fmt.Println(os.Getpid(), os.Args[1:], again, slacks())
	os.Exit(0)
}

// slacks returns the timer slacks of a few threads in this process.
func slacks() (all []time.Duration) {
	var mu sync.Mutex
	var there, read sync.WaitGroup
	there.Add(4)
	for range 4 {
		read.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			there.Done()
			there.Wait() // each goroutine has its own thread
			mu.Lock()
			defer mu.Unlock()
			all = append(all, of(syscall.PR_GET_TIMERSLACK, 0))
		})
	}
	read.Wait()
	return all
}

// TestAllThreadsHaveTheSlack: the process has begun again, as itself.
func TestAllThreadsHaveTheSlack(t *testing.T) {
	for _, wanted := range []time.Duration{3 * time.Millisecond, time.Nanosecond} {
		cmd := exec.Command(os.Args[0], "-flag", "an argument")
		cmd.Env = append(os.Environ(), ensured+"="+wanted.String())
		var out, said strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
		each := max(wanted, of(syscall.PR_GET_TIMERSLACK, 0)) // a larger slack than wanted is kept
		want := fmt.Sprintln(cmd.Process.Pid, []string{"-flag", "an argument"}, false,
			[]time.Duration{each, each, each, each})
		if out.String() != want {
			t.Errorf("%v: the process says %q, not %q", wanted, out.String(), want)
		}
	}
}

// TestAProcessBeginsAgainOnce: a process in which the slack did not last continues without slack.
func TestAProcessBeginsAgainOnce(t *testing.T) {
	t.Setenv(begunAgain, "1")
	Ensure(time.Hour)
	if _, set := os.LookupEnv(begunAgain); set {
		t.Error("processes that it starts believe that they have begun again")
	}
}
