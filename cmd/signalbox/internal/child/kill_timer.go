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

// The time between the client giving up a lease and the earliest time at which the cluster may grant it to another
// session is the reserve: a tenth of the session timeout, as promised by package client. During the reserve, the
// command must get its signal and be dead.
//
// The client gives up when its lease has run for the timeout minus the reserve, counted from sending the latest
// answered ping. The cluster counts the whole timeout, and from later: from that ping's arrival. So if the lease was
// still valid at time t, no other session has it before t + reserve. Run checks every eighth of the reserve, records
// t, and kills at the latest at t + 3/4 of the reserve, whenever and however it learns about the loss. That leaves a
// quarter of the reserve for the kernel and for clock drift.
//
// Pauses are covered too. If signalbox was stopped, or had no processor, for longer than that, t is old when it
// resumes, and it kills immediately, without first asking the command to end. While signalbox is stopped, the command
// continues to run: fencing tokens must reject whatever it writes.
const (
	reserveShare = 10 // one part in reserveShare of the session timeout
	checks       = 8  // checks per reserve
	killBy       = 3  // quarters of a reserve after the last successful check
)

// MinTimeout is the shortest session timeout that leaves enough time to end a command.
const MinTimeout = time.Second

// ErrSlept is a loss that only the machine's clock shows.
var ErrSlept = errors.New("the machine was suspended, and the lease may have expired meanwhile")

// Reserve returns the time for ending a command, given the session timeout.
func Reserve(timeout time.Duration) time.Duration { return timeout / reserveShare }

// DefaultKillAfter is the default time a command has between SIGTERM and SIGKILL.
func DefaultKillAfter(timeout time.Duration) time.Duration { return Reserve(timeout) / 2 }

// MaxKillAfter is the maximum time for a command, assuming a check that is late by one period.
func MaxKillAfter(timeout time.Duration) time.Duration {
	return killBy*Reserve(timeout)/4 - Reserve(timeout)/checks
}

// Lease is a command's lease, such as a *client.Lease.
type Lease interface {
	// Context ends with the lease.
	Context() context.Context
	// Err reads the clock, and returns nil while the lease is held.
	Err() error
}

// KillTimer ends a command before its lease ends.
type KillTimer struct {
	Lease Lease
	// Timeout is the timeout of the lease's session, at least MinTimeout.
	Timeout time.Duration
	// KillAfter is how long the command has to end after SIGTERM, at most MaxKillAfter.
	KillAfter time.Duration
	// OnChange, if set, is called for command events users should know about.
	OnChange func(Change)
}

// Outcome is how a command ended.
type Outcome struct {
	// Status is the exit status, or 128 plus the number of the signal that ended the command.
	Status int
	// Lost is the reason why the lease was lost while the command ran, nil if it was held to the end.
	Lost error
	// NotRun: the lease was lost before the command started, so there is no Status.
	NotRun bool
	// Killed: the lease was lost, and the command did not end after SIGTERM, or there was no time for SIGTERM.
	Killed bool
}

// Run starts a command and returns after its end. Meanwhile, signals are passed on to the command. An error means
// that the command could not be started.
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
			// Signalbox was stopped, and so was the command.
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

// check returns the current moment if the lease is held, or the reason why it is not.
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

// end ends a command whose lease is lost and was last known to be held at the moment good. Before the command is
// dead, end does nothing that could block, such as writing to a terminal.
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
	// After the command's end, processes it started may still exist, without a lease.
	p.Signal(syscall.SIGKILL)
	out.Status = p.Wait()
	return out
}

// taken reports whether another session may already have the lease: the cluster took the lease, or may have done so.
// There is time for SIGTERM only if the client itself gave up the lease.
func taken(lost error) bool {
	var end *client.SessionEnd
	return !errors.As(lost, &end) || end.Reason != client.EndUnreachable
}
