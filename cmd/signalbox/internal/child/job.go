//go:build unix

package child

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// The command and the processes it started form a separate process group, so that a signal ends the whole group. A
// shell only knows signalbox's group, its job, and stops and continues the job. So signalbox does for the command's
// group what a shell does for a job:
//
//   - The command gets the terminal's foreground when the command begins, or when it is stopped because it wants the
//     foreground, provided that the shell's job has the foreground.
//   - When the command is stopped from the terminal, or wants the terminal while the shell's job is in the background,
//     the job stops: first the command's group, then this process. The lease is not renewed meanwhile, and another
//     session can have the lease after the session timeout. No process runs under the lease: when the shell continues
//     the job, the lease is checked first, and the command continues only if the lease is still held.
//   - If no shell could continue the job, the command continues immediately. If the command wants a terminal that it
//     cannot have, it gets SIGHUP, which the kernel also sends to stopped processes that no shell can continue.
//   - A command that a foreign process stops with SIGSTOP stays stopped, and its lease is renewed. A line on standard
//     error reports this.

// Change is a command event users should know about.
type Change int

const (
	// Suspended: the command is stopped, and signalbox stops with it. The lease is not renewed.
	Suspended Change = iota + 1
	// Stopped: another process stopped the command, and the lease is renewed.
	Stopped
	// Continued: a Stopped command continues.
	Continued
)

// jobSignals are the job control signals. A process that does not handle them would be stopped by the first three
// while its command continues to run.
var jobSignals = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT, syscall.SIGCHLD}

// job is the job control for one command. Its methods are called by Run's goroutine.
type job struct {
	terminal *terminal
	process  *Process
	onChange func(Change)
	signals  chan os.Signal
	watched  []os.Signal
	wants    bool // the command has had the terminal, or asked for it
	stopped  bool // a foreign process stopped the command, and the stop was reported
}

// startJob starts a command under signalbox's job control. onChange may be nil.
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

// startApart starts a command without job control: it has no terminal, and no signals are handled for it.
func startApart(cmd *exec.Cmd) (*job, error) {
	j := &job{terminal: &terminal{fd: -1}}
	var err error
	j.process, err = start(cmd, j.terminal, false)
	return j, err
}

// watchJob begins to handle job control signals before the command starts. A signal that signalbox ignored from the
// start stays ignored, for the command too.
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

// close takes the terminal back from an ended command.
func (j *job) close() {
	switch {
	case j.process != nil:
		j.terminal.move(j.process.group(), j.terminal.own)
	case j.wants: // it got the foreground, and could not be started
		j.terminal.move(j.terminal.foreground(), j.terminal.own)
	}
	if len(j.watched) > 0 { // an empty list would reset all signals
		signal.Reset(j.watched...)
	}
	j.terminal.close()
}

// move moves the terminal's foreground.
func (j *job) move(from, to int) bool {
	defer signal.Notify(j.signals, j.watched...)
	return j.terminal.move(from, to)
}

// handle handles a job control signal. suspended reports that signalbox may have been stopped: the caller must check
// the lease, and call resume if it is still held.
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
			// The rest of a pipeline is stopped too, because it wants the command's terminal.
			_ = syscall.Kill(0, syscall.SIGCONT)
			return false
		}
		return j.suspend(false)
	case syscall.SIGTSTP:
		return j.suspend(false)
	}
	return false
}

// changed handles a command after a signal that stops or continues it.
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
		// Signalbox has the keyboard now, so the terminal is not dead.
		j.move(j.process.group(), j.terminal.own)
		j.stopped = true
		j.onChange(Stopped)
	}
	return false
}

// suspend stops the command's group and then signalbox, as the parent shell expects, and returns after the shell has
// continued signalbox. Without such a shell, suspend does nothing and returns false. halted means that the command
// was stopped first: the rest of signalbox's group is still running, and is stopped now.
func (j *job) suspend(halted bool) bool {
	if signal.Ignored(syscall.SIGTSTP) || !underShell() {
		return false
	}
	// After this, no process in the group executes another instruction of its program. Signalbox does not wait for
	// the report that all are stopped: a process that waits for a vfork child which was stopped before its exec is
	// never reported.
	j.process.Signal(syscall.SIGSTOP)
	// From here on, signalbox can write to the terminal and move its foreground from the background.
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	if j.terminal.move(j.process.group(), j.terminal.own) {
		j.wants = true
	}
	j.onChange(Suspended)
	if halted {
		_ = syscall.Kill(0, syscall.SIGTSTP)
	}
	stopSelf()
	// Handle requests that arrived while the job was being stopped. A stop of the command is not reported after it
	// continues.
	for range len(j.signals) {
		<-j.signals
	}
	signal.Notify(j.signals, j.watched...)
	j.stopped = false
	return true
}

// resume continues a stopped command, with the terminal if the command wants it and the job has it.
func (j *job) resume() {
	if j.wants {
		j.move(j.terminal.own, j.process.group())
	}
	j.process.Signal(syscall.SIGCONT)
}

// StopIdly makes terminal stop signals stop signalbox while no command runs, until the returned function is called.
// StopIdly replaces the default action, because Go programs do not get the default action back after handling a signal.
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

// underShell reports whether some process could continue signalbox's group: the parent of a process in the group that
// is in the session, but not in the group.
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
