// Package process runs the servers and the load generators of a race as processes of their own.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	// stopPatience is how long a process has to end after it was asked to, before it is killed.
	stopPatience = 10 * time.Second
	// tailBytes of what a process logged go into an error about it.
	tailBytes = 1500
)

// Process is a child that runs until it is stopped or ends by itself.
type Process struct {
	name    string
	command *exec.Cmd
	log     *os.File
	ended   chan struct{} // closed when the process is gone
	err     error         // how it ended; to be read after ended is closed
}

// Spec says what to run.
type Spec struct {
	Name    string // for errors
	Command []string
	Dir     string
	Env     []string // added to this process's environment
	// Log is the file that takes what the process writes to standard error, and to standard output
	// where Stdout is nil.
	Log    string
	Stdin  io.Reader
	Stdout io.Writer
}

// Start starts a process. Whoever starts it stops it.
func Start(s Spec) (*Process, error) {
	log, err := os.Create(s.Log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	p := &Process{name: s.Name, command: exec.Command(s.Command[0], s.Command[1:]...), log: log, ended: make(chan struct{})}
	p.command.Dir, p.command.Stdin, p.command.Stdout, p.command.Stderr = s.Dir, s.Stdin, s.Stdout, log
	if s.Stdout == nil {
		p.command.Stdout = log
	}
	p.command.Env = append(os.Environ(), s.Env...)
	// A group of its own: an interrupt at the terminal is for the race, which stops its children in order.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.command.Wait()
		log.Close()
	}()
	return p, nil
}

// Command is the command line.
func (p *Process) Command() []string { return p.command.Args }

// Ended is closed when the process is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err tells why a process is gone, with the end of what it logged. It is for after Ended.
func (p *Process) Err() error {
	err := p.err
	if err == nil {
		err = errors.New("it ended by itself")
	}
	return fmt.Errorf("%s: %w\n%s", p.name, err, p.tail())
}

// Stop asks the process to end, kills it with all its group where it does not, and waits.
func (p *Process) Stop() {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopPatience):
	}
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// signal goes to the whole group, which is there as long as one process of it is.
func (p *Process) signal(s syscall.Signal) { _ = syscall.Kill(-p.command.Process.Pid, s) }

func (p *Process) tail() []byte {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return nil
	}
	return bytes.TrimSpace(text[max(0, len(text)-tailBytes):])
}

// Output runs a process to its end and returns its standard output. The end of the context stops it.
func Output(ctx context.Context, s Spec) ([]byte, error) {
	var out bytes.Buffer
	s.Stdout = &out
	p, err := Start(s)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.Ended():
	case <-ctx.Done():
		p.Stop()
		return nil, fmt.Errorf("%s: %w", s.Name, context.Cause(ctx))
	}
	if p.err != nil {
		return nil, p.Err()
	}
	return out.Bytes(), nil
}
