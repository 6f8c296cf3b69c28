// Package subprocess starts, watches, stops and reaps processes. On Linux the processes are killed when their parent
// process ends for any reason.
//
// Launch is for a program that Stop or Kill will stop, Output for a program that ends by itself.
package subprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pollPause is the pause between two checks for a condition without an event.
const pollPause = 5 * time.Millisecond

// Process is a running program and its output. A Process is safe for concurrent use.
type Process struct {
	Name  string // in errors
	Began time.Time

	cmd            *exec.Cmd
	stdout, stderr output
	gone           chan struct{} // closed when the process ends
}

// Launch starts a program. The program's standard output and standard error are stored, unless cmd redirects them.
// Bytes read from shown also count as output: for a program's terminal, pass the terminal's other side.
func Launch(name string, cmd *exec.Cmd, shown ...io.Reader) (*Process, error) {
	p := &Process{Name: name, Began: time.Now(), cmd: cmd, gone: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.stderr
	}
	if err := Start(cmd); err != nil {
		return nil, fmt.Errorf("process: start %s: %w", name, err)
	}
	var readers sync.WaitGroup
	for _, r := range shown {
		// Reading from a terminal ends with an error when the other side is closed.
		readers.Go(func() { _, _ = io.Copy(&p.stdout, r) })
	}
	go func() {
		_ = cmd.Wait() // ExitCode has the outcome
		readers.Wait()
		close(p.gone)
	}()
	return p, nil
}

// Output runs a program until it ends and returns its standard output. The context's end stops the program.
func Output(ctx context.Context, name string, cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout = &out
	p, err := Launch(name, cmd)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.gone:
	case <-ctx.Done():
		p.End(stopTimeout)
		return nil, fmt.Errorf("process: %s: %w", name, context.Cause(ctx))
	}
	if p.ExitCode() != 0 {
		return nil, p.Err()
	}
	return out.Bytes(), nil
}

// stopTimeout is how long a program run by Output may take to end after the context has ended, before it is killed.
const stopTimeout = 10 * time.Second

// Again restarts an ended process's program, with the same arguments, environment and directory.
func (p *Process) Again() (*Process, error) {
	<-p.gone
	cmd := exec.Command(p.cmd.Path, p.cmd.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.cmd.Dir, p.cmd.Env, p.cmd.SysProcAttr
	return Launch(p.Name, cmd)
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Args returns the program and its arguments.
func (p *Process) Args() []string { return p.cmd.Args }

// Gone is closed when the process has ended and all its output is stored. Processes left behind by the program can also
// write, and delay Gone.
func (p *Process) Gone() <-chan struct{} { return p.gone }

func (p *Process) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// ExitCode returns an ended process's exit code: -1 after a signal.
func (p *Process) ExitCode() int {
	<-p.gone
	return p.cmd.ProcessState.ExitCode()
}

// Err returns how a process ended, with the last lines from its standard error. Err wraps an *exec.ExitError.
func (p *Process) Err() error {
	<-p.gone
	return fmt.Errorf("process: %s ended: %w: %s",
		p.Name, &exec.ExitError{ProcessState: p.cmd.ProcessState}, p.lastErrors())
}

// lastErrors returns the last lines from standard error.
func (p *Process) lastErrors() string {
	lines := strings.Split(strings.TrimSpace(p.Errors()), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// Wait waits until the process has ended by itself, and returns the exit code.
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

// Output returns the end of the process's standard output.
func (p *Process) Output() string { return p.stdout.String() }

// Errors returns the end of the process's standard error, which is a host's log.
func (p *Process) Errors() string { return p.stderr.String() }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("process: signal %v to %s: %w", s, p.Name, err)
	}
	return nil
}

// Kill kills the process, and returns when the process is gone. If the process has its own group, Kill kills the
// group.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // possibly gone already
	p.signalGroup(syscall.SIGKILL)
	<-p.gone
}

// Stop ends the process as a supervisor does, and returns when the process is gone.
func (p *Process) Stop(within time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	code, err := p.Wait(within)
	if err == nil && code != 0 {
		err = fmt.Errorf("process: %s ended with code %d after SIGTERM", p.Name, code)
	}
	return err
}

// End asks the process, and its group if any, to end, and kills the rest after a timeout.
func (p *Process) End(within time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // possibly gone already
	p.signalGroup(syscall.SIGTERM)
	_, _ = p.Wait(within)
	p.Kill()
}

// signalGroup signals the process's group, if it has its own group. Group members that remain after the process has
// ended have closed the outputs, and are not signalled.
func (p *Process) signalGroup(s syscall.Signal) {
	if !p.isGone() {
		signalGroup(p.cmd, s)
	}
}

// AwaitOutput waits for a condition on Output and Errors, and checks the condition whenever they have grown. The error
// includes the condition, such as "it waits in the queue".
func (p *Process) AwaitOutput(condition string, within time.Duration, is func() bool) error {
	return p.await(condition, within, is, nil)
}

// Await waits for a condition without an event, and checks the condition again and again while the process runs.
func (p *Process) Await(condition string, within time.Duration, is func() bool) error {
	again := time.NewTicker(pollPause)
	defer again.Stop()
	return p.await(condition, within, is, again.C)
}

func (p *Process) await(condition string, within time.Duration, is func() bool, again <-chan time.Time) error {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		// Read before the condition is checked: output from in between, and from the end, counts.
		gone, stdout, stderr := p.isGone(), p.stdout.more(), p.stderr.more()
		if is() {
			return nil
		}
		if gone {
			return fmt.Errorf("process: %s ended with code %d before %s:\n%s",
				p.Name, p.ExitCode(), condition, p.Errors())
		}
		select {
		case <-stdout:
		case <-stderr:
		case <-again:
		case <-p.gone:
		case <-late.C:
			return fmt.Errorf("process: %s: not within %v: %s", p.Name, within, condition)
		}
	}
}

// ErrEnded means that an awaited process ended.
var ErrEnded = errors.New("a process has ended")

// AwaitAll waits until a check over several processes succeeds. AwaitAll returns early, with ErrEnded, if a process has
// ended.
func AwaitAll(ctx context.Context, what string, all []*Process, check func(context.Context) error) error {
	again := time.NewTicker(4 * pollPause)
	defer again.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		for _, p := range all {
			if p.isGone() {
				return fmt.Errorf("%w: %w", ErrEnded, p.Err())
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process: %s: %w: %w", what, context.Cause(ctx), err)
		case <-again.C:
		}
	}
}

// Ports are distinct free local ports.
type Ports struct {
	Addresses []string
	reserved  []io.Closer
}

// ReservePorts finds free ports. On Linux the ports are reserved until Close for processes that listen on them, one
// after another; on other systems a foreign process may take a port first.
func ReservePorts(n int) (*Ports, error) {
	p := &Ports{}
	for range n {
		address, reserved, err := reserve()
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("process: find a free port: %w", err)
		}
		p.Addresses, p.reserved = append(p.Addresses, address), append(p.reserved, reserved)
	}
	if !portsAreKept {
		p.Close()
	}
	return p, nil
}

// Close releases the ports.
func (p *Ports) Close() {
	for _, r := range p.reserved {
		_ = r.Close()
	}
	p.reserved = nil
}
