//go:build unix

package child

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// The command and the processes that the command started are a process group of their own, so that a signal ends all of
// the group. A shell knows only the group of this process, its job, and stops and continues the job. So this process
// does for the group of the command the work of a shell for a job:
//
//   - The command gets the foreground of the terminal when the command begins, or when the command is stopped because
//     it wants the foreground, while the job of the shell has the foreground.
//   - When the command is stopped from the terminal, or wants the terminal while the job of the shell is in the
//     background, the job stops: first the group of the command, then this process. The lease is not renewed meanwhile,
//     and a second session can have the lease after the timeout of the session. No process runs under the lease: when
//     the shell continues the job, the lease is checked first, and the command goes on only under a lease that holds.
//   - Where no shell could continue the job the command goes on at once. If the command wants a terminal that it cannot
//     have, the command gets SIGHUP, as the kernel sends SIGHUP to stopped processes that no shell can continue.
//   - A command that a foreign process stops with SIGSTOP stays stopped, and its lease is renewed. A line on standard
//     error says so.

// Change is an event of a command that users should know.
type Change int

const (
	// Suspended: the command is stopped, and this process stops with it. The lease is not renewed.
	Suspended Change = iota + 1
	// Stopped: another process stopped the command, and the lease is renewed.
	Stopped
	// Continued: a command that was Stopped goes on.
	Continued
)

// jobSignals are the signals of job control. A process without a watch would be stopped by the first three while its
// command runs on.
var jobSignals = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT, syscall.SIGCHLD}

// job is the job control of one command. Its methods are called by the goroutine of Run.
type job struct {
	terminal *terminal
	process  *Process
	onChange func(Change)
	signals  chan os.Signal
	watched  []os.Signal
	wants    bool // the command has had the terminal, or asked for it
	stopped  bool // a foreign process stopped the command, and the stop was reported
}

// startJob starts a command under the job control of this process. onChange may be nil.
func startJob(cmd *exec.Cmd, onChange func(Change)) (*job, error) {
	if onChange == nil {
		onChange = func(Change) {}
	}
	j := watchJob(onChange)
	j.wants = j.terminal.isFor(cmd)
	var err error
	if j.process, err = start(cmd, j.terminal, j.wants); err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

// startApart starts a command without job control: it has no terminal, and no signal is watched for it.
func startApart(cmd *exec.Cmd) (*job, error) {
	j := &job{terminal: &terminal{fd: -1}}
	var err error
	j.process, err = start(cmd, j.terminal, false)
	return j, err
}

// watchJob begins to watch the signals of job control, before there is a command. A signal that this process ignores
// from the start stays ignored, for the command as well.
func watchJob(onChange func(Change)) *job {
	j := &job{terminal: openTerminal(), onChange: onChange, signals: make(chan os.Signal, 16)}
	for _, s := range jobSignals {
		if !signal.Ignored(s) {
			j.watched = append(j.watched, s)
		}
	}
	signal.Notify(j.signals, j.watched...)
	return j
}

// close takes the terminal back from a command that has ended.
func (j *job) close() {
	switch {
	case j.process != nil:
		j.terminal.move(j.process.group(), j.terminal.own)
	case j.wants: // it got the foreground, and could not be started
		j.terminal.move(j.terminal.foreground(), j.terminal.own)
	}
	if len(j.watched) > 0 { // without any all signals would be reset
		signal.Reset(j.watched...)
	}
	j.terminal.close()
}

// move moves the foreground of the terminal.
func (j *job) move(from, to int) bool {
	defer signal.Notify(j.signals, j.watched...)
	return j.terminal.move(from, to)
}

// handle does what a signal of job control asks for. suspended reports that this process may have stood still: the
// lease is to be checked, and resume to be called if it is held.
func (j *job) handle(s os.Signal) (suspended bool) {
	switch s {
	case syscall.SIGCHLD:
		for change, by, ok := j.process.change(); ok; change, by, ok = j.process.change() {
			if j.changed(change, by) {
				return true
			}
		}
	case syscall.SIGCONT:
		if j.stopped {
			j.resume()
		}
	case syscall.SIGTTIN, syscall.SIGTTOU:
		if j.move(j.process.group(), j.terminal.own) {
			// The rest of a pipeline is stopped too, because the pipeline wants the terminal of the command.
			_ = syscall.Kill(0, syscall.SIGCONT)
			return false
		}
		return j.suspend(false)
	case syscall.SIGTSTP:
		return j.suspend(false)
	}
	return false
}

// changed handles a command after a signal that stops or continues the command.
func (j *job) changed(change Change, by syscall.Signal) (suspended bool) {
	if change == Continued {
		if j.stopped {
			j.stopped = false
			j.onChange(Continued)
			if j.wants {
				j.move(j.terminal.own, j.process.group())
			}
		}
		return false
	}
	asks := by == syscall.SIGTTIN || by == syscall.SIGTTOU
	foreground := j.terminal.foreground()
	switch {
	case asks && (foreground == j.terminal.own || foreground == j.process.group()):
		j.wants = true
		j.resume()
	case asks, by == syscall.SIGTSTP && foreground == j.process.group():
		j.wants = true
		if j.suspend(true) {
			return true
		}
		if asks {
			j.process.Signal(syscall.SIGHUP)
		}
		j.resume()
	case !j.stopped:
		// The keyboard is for this process now, so the terminal is not dead.
		j.move(j.process.group(), j.terminal.own)
		j.stopped = true
		j.onChange(Stopped)
	}
	return false
}

// suspend stops the group of the command and then this process, as the shell above expects, and returns when the shell
// has continued this process. Without such a shell suspend does nothing and returns false. halted says that the command
// was stopped first: then the rest of the group of this process runs on, and is stopped now.
func (j *job) suspend(halted bool) bool {
	if signal.Ignored(syscall.SIGTSTP) || !underShell() {
		return false
	}
	// No process of the group runs a further instruction of a program after this. This process does not wait for the
	// report that all are stopped: a process that waits for a child of vfork, and whose child is stopped before the
	// exec, is never reported.
	j.process.Signal(syscall.SIGSTOP)
	// From here on this process can write to the terminal and move its foreground from the background.
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	if j.terminal.move(j.process.group(), j.terminal.own) {
		j.wants = true
	}
	j.onChange(Suspended)
	if halted {
		_ = syscall.Kill(0, syscall.SIGTSTP)
	}
	stopSelf()
	// A request that came while the job was being stopped is carried out. A stop of the command is not reported after
	// the command goes on.
	for range len(j.signals) {
		<-j.signals
	}
	signal.Notify(j.signals, j.watched...)
	j.stopped = false
	return true
}

// resume continues a stopped command, with the terminal if the command wants the terminal and the job has the terminal.
func (j *job) resume() {
	if j.wants {
		j.move(j.terminal.own, j.process.group())
	}
	j.process.Signal(syscall.SIGCONT)
}

// StopIdly has the terminal stop this process, as by default, while no command runs, until the returned function is
// called. A Go program with a watch of a signal does not get the default action back.
func StopIdly() (over func()) {
	stops, done := make(chan os.Signal, 1), make(chan struct{})
	for _, s := range []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		if !signal.Ignored(s) {
			signal.Notify(stops, s)
		}
	}
	go func() {
		for {
			select {
			case <-stops:
				if underShell() {
					stopSelf()
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(stops)
		close(done)
	}
}

// underShell reports whether some process could continue the group of this process: a parent of a process of the group
// that is in the session and not in the group.
func underShell() bool {
	own := syscall.Getpgrp()
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	for pid := os.Getppid(); pid > 0; pid = parentOf(pid) {
		group, err := syscall.Getpgid(pid)
		if err != nil {
			return false
		}
		if s, err := unix.Getsid(pid); err != nil || s != session {
			return false
		}
		if group != own {
			return true
		}
	}
	return false
}
