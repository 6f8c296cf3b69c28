package process

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Host is the process of a host.
type Host struct {
	*Process
	Place *Place
}

// Start starts a process in the place, with more arguments than those of the place where some are given. It does not
// wait until it is ready.
func (p *Place) Start(more ...string) (*Host, error) {
	args := []string{"serve", "--data-dir", p.Dir, "--listen", p.Client, "--raft-listen", p.Raft, "--admin-listen", p.Admin}
	cmd := exec.Command(p.Program.Path, append(append(args, p.Args...), more...)...)
	cmd.Env = append([]string{}, p.Program.Env...)
	started, err := Launch("host "+p.Name, cmd)
	if err != nil {
		return nil, err
	}
	return &Host{started, p}, nil
}

// Stop ends the process as a supervisor does, and returns when it is gone.
func (h *Host) Stop(within time.Duration) error {
	if err := h.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	code, err := h.Wait(within)
	if err == nil && code != 0 {
		err = fmt.Errorf("process: %s ended with code %d after SIGTERM", h.Name, code)
	}
	return err
}
