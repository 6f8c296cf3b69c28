package timerslack

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// begunAgain is the variable by which a process knows that it has begun again already.
const begunAgain = "SIGNALBOX_TIMER_SLACK_BEGUN_AGAIN"

// Ensure lets the timers of all threads of this process come late by so much. The threads that the runtime of Go has
// made before main cannot be changed, so the process begins again, with the same number, arguments and open files: call
// it first of all in main. Where the kernel does not let it, nothing changes.
func Ensure(slack time.Duration) {
	if os.Getenv(begunAgain) != "" {
		_ = os.Unsetenv(begunAgain) // not for processes that this one starts
		return
	}
	runtime.LockOSThread() // the slack that counts is that of the thread that begins again
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
		_ = syscall.Exec(program, os.Args, append(os.Environ(), begunAgain+"=1")) // it returns only where it has failed
	}
	of(syscall.PR_SET_TIMERSLACK, before)
}

// of asks the kernel about the slack of this thread. It returns less than nothing where the kernel refuses to answer.
func of(operation uintptr, slack time.Duration) time.Duration {
	n, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, operation, uintptr(slack.Nanoseconds()), 0)
	if errno != 0 {
		return -1
	}
	return time.Duration(n)
}
