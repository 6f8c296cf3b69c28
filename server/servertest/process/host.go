package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Host is a running process. It is safe for use by many goroutines.
type Host struct {
	Place *Place
	Began time.Time

	cmd         *exec.Cmd
	said, cried output
	gone        chan struct{} // closed when it has ended
}

// Start starts a process in the place. It does not wait until it is ready.
func (p *Place) Start() (*Host, error) {
	h := &Host{Place: p, Began: time.Now(), gone: make(chan struct{})}
	args := []string{"serve", "--data-dir", p.Dir, "--listen", p.Client, "--raft-listen", p.Raft, "--admin-listen", p.Admin}
	h.cmd = exec.Command(p.Program.Path, append(args, p.Args...)...)
	h.cmd.Env = append([]string{}, p.Program.Env...)
	h.cmd.Stdout, h.cmd.Stderr = &h.said, &h.cried
	if err := start(h.cmd); err != nil {
		return nil, fmt.Errorf("process: start host %s: %w", p.Name, err)
	}
	go func() {
		_ = h.cmd.Wait() // ExitCode tells
		close(h.gone)
	}()
	return h, nil
}

// PID is the number of the process.
func (h *Host) PID() int { return h.cmd.Process.Pid }

// Gone is closed when the process has ended.
func (h *Host) Gone() <-chan struct{} { return h.gone }

// ExitCode is that of a process that has ended: -1 where a signal ended it.
func (h *Host) ExitCode() int {
	<-h.gone
	return h.cmd.ProcessState.ExitCode()
}

// Output is the last of what it wrote to its standard output, Errors to its standard error.
func (h *Host) Output() string { return h.said.String() }

// Errors is the last of what it wrote to its standard error: its log.
func (h *Host) Errors() string { return h.cried.String() }

// Signal sends a signal.
func (h *Host) Signal(s os.Signal) error {
	if err := h.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("process: signal %v to host %s: %w", s, h.Place.Name, err)
	}
	return nil
}

// Kill ends the process without a word, and returns when it is gone.
func (h *Host) Kill() {
	_ = h.cmd.Process.Kill() // it may be gone already
	<-h.gone
}

// Stop ends the process as a supervisor does, and returns when it is gone.
func (h *Host) Stop(within time.Duration) error {
	if err := h.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-h.gone:
		if code := h.ExitCode(); code != 0 {
			return fmt.Errorf("process: host %s: exit code %d after SIGTERM", h.Place.Name, code)
		}
		return nil
	case <-time.After(within):
		return fmt.Errorf("process: host %s does not stop within %v", h.Place.Name, within)
	}
}
