package timerslack

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// begunAgain is the environment variable that marks an already restarted process.
const begunAgain = "SIGNALBOX_TIMER_SLACK_BEGUN_AGAIN"

// Ensure lets the timers of all threads in this process fire late by up to slack. Threads created by the Go runtime
// before main cannot be changed, so the process re-executes itself, with the same process id, arguments and open files:
// call Ensure first in main. If the kernel does not permit this, nothing changes.
func Ensure(slack time.Duration) {
	if os.Getenv(begunAgain) != "" {
		_ = os.Unsetenv(begunAgain) // not for child processes
		return
	}
	runtime.LockOSThread() // the re-executing thread's slack counts
	defer runtime.UnlockOSThread()
	before := of(syscall.PR_GET_TIMERSLACK, 0)
	if before < 0 || before >= slack {
		return
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	of(syscall.PR_SET_TIMERSLACK, slack)
	if of(syscall.PR_GET_TIMERSLACK, 0) == slack {
		_ = syscall.Exec(program, os.Args, append(os.Environ(), begunAgain+"=1")) // returns only on failure
	}
	of(syscall.PR_SET_TIMERSLACK, before)
}

// of calls the kernel about this thread's slack. It returns a negative value if the kernel rejects the call.
func of(operation uintptr, slack time.Duration) time.Duration {
	n, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, operation, uintptr(slack.Nanoseconds()), 0)
	if errno != 0 {
		return -1
	}
	return time.Duration(n)
}
