package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// askAgain is the pause before what no event tells of is asked again.
const askAgain = 5 * time.Millisecond

// Process is a program that runs, and what it has written. It is safe for use by many goroutines.
type Process struct {
	Name  string // what errors call it
	Began time.Time

	cmd         *exec.Cmd
	said, cried output
	gone        chan struct{} // closed when it has ended
}

// Launch starts a program that, on Linux, dies with this one. What it writes to its standard output and its standard
// error is kept, unless cmd says where else it goes. What can be read from shown counts as output too: a terminal
// that the program writes to is read at its other side.
func Launch(name string, cmd *exec.Cmd, shown ...io.Reader) (*Process, error) {
	p := &Process{Name: name, Began: time.Now(), cmd: cmd, gone: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.said
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.cried
	}
	if err := start(cmd); err != nil {
		return nil, fmt.Errorf("process: start %s: %w", name, err)
	}
	var readers sync.WaitGroup
	for _, r := range shown {
		readers.Go(func() { _, _ = io.Copy(&p.said, r) }) // a terminal that nobody writes to any more ends with an error
	}
	go func() {
		_ = cmd.Wait() // ExitCode tells
		readers.Wait()
		close(p.gone)
	}()
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Gone is closed when the process has ended, and all that it wrote is in Output and Errors. What it started and left
// behind can write as well, and is waited for.
func (p *Process) Gone() <-chan struct{} { return p.gone }

func (p *Process) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// ExitCode is that of a process that has ended: -1 where a signal ended it.
func (p *Process) ExitCode() int {
	<-p.gone
	return p.cmd.ProcessState.ExitCode()
}

// Wait waits until the process has ended by itself, and returns its exit code.
func (p *Process) Wait(within time.Duration) (code int, err error) {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-p.gone:
		return p.ExitCode(), nil
	case <-late.C:
		return 0, fmt.Errorf("process: %s does not end within %v", p.Name, within)
	}
}

// Output is the last of what it wrote to its standard output.
func (p *Process) Output() string { return p.said.String() }

// Errors is the last of what it wrote to its standard error: of a host, its log.
func (p *Process) Errors() string { return p.cried.String() }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("process: signal %v to %s: %w", s, p.Name, err)
	}
	return nil
}

// Kill ends the process without a word, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.gone
}

// AwaitOutput waits until something is so that is seen in Output and Errors, and asks whenever there is more in them.
// What names it in the error, as in "it waits in the queue".
func (p *Process) AwaitOutput(what string, within time.Duration, is func() bool) error {
	return p.await(what, within, is, nil)
}

// Await waits until something is so that no event tells of, and asks again and again while the process runs.
func (p *Process) Await(what string, within time.Duration, is func() bool) error {
	again := time.NewTicker(askAgain)
	defer again.Stop()
	return p.await(what, within, is, again.C)
}

func (p *Process) await(what string, within time.Duration, is func() bool, again <-chan time.Time) error {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		// Looked at before it is asked: what comes in between, and with the end, counts.
		gone, said, cried := p.isGone(), p.said.more(), p.cried.more()
		if is() {
			return nil
		}
		if gone {
			return fmt.Errorf("process: %s ended with code %d before %s:\n%s", p.Name, p.ExitCode(), what, p.Errors())
		}
		select {
		case <-said:
		case <-cried:
		case <-again:
		case <-p.gone:
		case <-late.C:
			return fmt.Errorf("process: %s: not within %v: %s", p.Name, within, what)
		}
	}
}
