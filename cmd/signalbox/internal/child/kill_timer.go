//go:build unix

package child

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/client"
)

// The time between the moment at which a client gives a lease up and the first at which the cluster may give
// it to another session is the reserve: a tenth of the session's timeout, by the promise of package client. In
// it the command must get its signal, and be dead.
//
// The client gives up when its lease has run for the timeout less the reserve, counted from the sending of the
// latest ping that was answered. The cluster counts the whole timeout, from later: from that ping's arrival.
// So if the lease was still good at a moment t, no other session has it before t + reserve. Run checks every eighth
// of the reserve, writes down t, and kills at the latest at t + 3/4 of the reserve, whenever and however it
// hears of the loss. That leaves a quarter of the reserve to the kernel, and for clocks that run at different
// speeds.
//
// It also covers pauses. When this process was stopped, or had no processor, for longer than that, t is old
// when it wakes, and it kills at once, without asking the command to end first. While it is stopped the command
// runs on: what that may write is for the fencing token to keep out.
const (
	reserveShare = 10 // a part of so many of the session's timeout
	checks       = 8  // in a reserve
	killBy       = 3  // quarters of a reserve after the last good check
)

// MinTimeout is the shortest session timeout for which there is time enough to end a command.
const MinTimeout = time.Second

// ErrSlept is the loss that only the clock of the machine shows.
var ErrSlept = errors.New("the machine slept, and the cluster may have given the lease away meanwhile")

// Reserve is the time for ending a command under a session with that timeout.
func Reserve(timeout time.Duration) time.Duration { return timeout / reserveShare }

// DefaultKillAfter is how long a command has between SIGTERM and SIGKILL where nothing else is said.
func DefaultKillAfter(timeout time.Duration) time.Duration { return Reserve(timeout) / 2 }

// MaxKillAfter is the longest time for a command, given a check that comes late by a period.
func MaxKillAfter(timeout time.Duration) time.Duration {
	return killBy*Reserve(timeout)/4 - Reserve(timeout)/checks
}

// Lease is the lease of a command, such as a *client.Lease.
type Lease interface {
	// Context ends with the lease.
	Context() context.Context
	// Err reads the clock, and returns nil while the lease is held.
	Err() error
}

// KillTimer ends a command before its lease ends.
type KillTimer struct {
	Lease Lease
	// Timeout is that of the lease's session, at least MinTimeout.
	Timeout time.Duration
	// KillAfter is how long the command has to end after SIGTERM, at most MaxKillAfter.
	KillAfter time.Duration
	// OnChange, if it is set, is called when something has happened to the command that users should know.
	OnChange func(Change)
}

// Outcome is how a command ended.
type Outcome struct {
	// Status is the exit status, or 128 and the number of the signal that ended the command.
	Status int
	// Lost is why the lease was lost while the command ran, nil where it was held to the end.
	Lost error
	// NotRun: the lease was lost before the start of the command, so there is no Status.
	NotRun bool
	// Killed: the lease was lost, and the command did not end by SIGTERM, or there was no time for SIGTERM.
	Killed bool
}

// Run starts a command and returns after its end. Signals meanwhile are passed on to the command. The error says that
// the command could not be started.
func (k KillTimer) Run(cmd *exec.Cmd, signals <-chan os.Signal) (Outcome, error) {
	good, lost := k.check(now())
	if lost != nil {
		return Outcome{Lost: lost, NotRun: true}, nil
	}
	j, err := startJob(cmd, k.OnChange)
	if err != nil {
		return Outcome{}, err
	}
	defer j.close()
	p := j.process
	tick := time.NewTicker(Reserve(k.Timeout) / checks)
	defer tick.Stop()
	over := k.Lease.Context().Done()
	for {
		ended := false
		var passed, control os.Signal
		select {
		case passed = <-signals:
		case control = <-j.signals:
		case <-tick.C:
		case <-over:
		case <-p.Ended():
			ended = true
		}
		t, lost := k.check(good)
		if lost == nil && control != nil && j.handle(control) {
			// This process stood still, and so does the command.
			if t, lost = k.check(t); lost == nil {
				j.resume()
			}
		}
		switch {
		case lost != nil:
			return k.end(p, good, lost), nil
		case ended:
			return Outcome{Status: p.Wait()}, nil
		case passed != nil:
			p.pass(passed.(syscall.Signal))
		}
		good = t
	}
}

// check returns the present moment, at which the lease is held, or why it is not.
func (k KillTimer) check(last moment) (moment, error) {
	t := now()
	if err := k.Lease.Err(); err != nil {
		return t, err
	}
	if last.slept(t) > Reserve(k.Timeout)/checks {
		return t, ErrSlept
	}
	return t, nil
}

// end ends a command whose lease is lost, and was held at the moment good. Before the command is dead, end does nothing
// that could wait, such as writing to a terminal.
func (k KillTimer) end(p *Process, good moment, lost error) Outcome {
	out := Outcome{Lost: lost}
	left := min(k.KillAfter, good.all+killBy*Reserve(k.Timeout)/4-now().all)
	if taken(lost) || left <= 0 {
		out.Killed = true
	} else {
		p.pass(syscall.SIGTERM)
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-p.Ended():
		case <-timer.C:
			out.Killed = true
		}
	}
	// After the end of the command, processes that the command started may be there still, and have no lease either.
	p.Signal(syscall.SIGKILL)
	out.Status = p.Wait()
	return out
}

// taken reports whether a second session may have the lease already: the cluster took the lease, or may have done so.
// There is time for SIGTERM only where the client itself gave the lease up.
func taken(lost error) bool {
	var end *client.SessionEnd
	return !errors.As(lost, &end) || end.Reason != client.EndUnreachable
}
