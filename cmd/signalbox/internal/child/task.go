//go:build unix

package child

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Task runs a command for a purpose that can end before the command. Unlike with a KillTimer, the Task's end gives
// nothing to another session, so the command has as much time as the user allows.
type Task struct {
	// Purpose ends the command when it ends.
	Purpose context.Context
	// KillAfter is how long the command has to end after SIGTERM.
	KillAfter time.Duration
	// OnChange, if set, is called for command events users should know about.
	OnChange func(Change)
	// Background keeps the command away from the terminal and job control, which handle only one command at a time.
	// So several commands can run at once. While signalbox is stopped, the commands continue to run.
	Background bool
}

// Run starts a command and returns after its end. Meanwhile, signals are passed on to the command. If the purpose
// ended first, the outcome's Lost is the cause, and the command's group is killed as well. An error means that the
// command could not be started.
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
	var late <-chan time.Time // when to kill
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
