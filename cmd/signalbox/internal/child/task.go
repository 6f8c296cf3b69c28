//go:build unix

package child

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Task runs a command that serves a purpose which can end before it does. Unlike that of a Leash, its end gives nothing
// to another session, so the command has as much time as the user gives it.
type Task struct {
	// Purpose ends the command when it ends.
	Purpose context.Context
	// KillAfter is how long the command has to end after SIGTERM.
	KillAfter time.Duration
	// OnChange, if it is set, is called when something has happened to the command that users should know.
	OnChange func(Change)
	// Background keeps the command away from the terminal and from job control, of which one command at a time can be
	// the subject: so several run at once. Where this process is stopped they run on.
	Background bool
}

// Run starts a command and returns when it has ended. The signals that come meanwhile are passed on to it. Where the
// purpose ended first, Lost of the outcome is the cause, and what the command has started is killed as well. The error
// says that it could not be started.
func (t Task) Run(cmd *exec.Cmd, signals <-chan os.Signal) (Outcome, error) {
	if lost := context.Cause(t.Purpose); lost != nil {
		return Outcome{Lost: lost, NotRun: true}, nil
	}
	j, err := t.start(cmd)
	if err != nil {
		return Outcome{}, err
	}
	defer j.close()
	var out Outcome
	over := t.Purpose.Done()
	var late <-chan time.Time // when it is to be killed
	for {
		select {
		case s := <-signals:
			j.process.pass(s.(syscall.Signal))
		case s := <-j.signals:
			if j.handle(s) {
				j.resume()
			}
		case <-over:
			out.Lost, over = context.Cause(t.Purpose), nil
			j.process.pass(syscall.SIGTERM)
			late = time.After(t.KillAfter)
		case <-late:
			out.Killed = true
			j.process.Signal(syscall.SIGKILL)
		case <-j.process.Ended():
			if out.Lost != nil {
				j.process.Signal(syscall.SIGKILL)
			}
			out.Status = j.process.Wait()
			return out, nil
		}
	}
}

// start starts the command.
func (t Task) start(cmd *exec.Cmd) (*job, error) {
	if t.Background {
		return startApart(cmd)
	}
	return startJob(cmd, t.OnChange)
}
