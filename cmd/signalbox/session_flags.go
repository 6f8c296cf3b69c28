package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// cleanUpTime bounds what a command that ends still does at the cluster. What it could not do there ends with the
// timeout of its session.
const cleanUpTime = 2 * time.Second

// sessionFlags are the flags of commands that have a session.
type sessionFlags struct {
	timeout     time.Duration
	description string
}

func (s *sessionFlags) add(c *cobra.Command) {
	c.Flags().DurationVar(&s.timeout, "session-timeout", client.DefaultSessionTimeout,
		"how long the cluster waits for this process when it is not heard of, before others get what it holds: `DURATION` up to 30m")
	c.Flags().StringVar(&s.description, "description", "", "`TEXT` that signalbox session list shows; otherwise it says which command runs on which machine")
}

// open starts a session in a node. It is to be closed with cleanUp.
func (s *sessionFlags) open(ctx context.Context, k *cli.Connection, box *client.Client, path, command string,
	options ...client.SessionOption) (*client.Session, error) {
	if s.timeout < client.MinSessionTimeout {
		return nil, cli.Errorf(cli.ExitUsage, "--session-timeout %v: give %v or more, such as 10s: with less a "+
			"session cannot be kept alive", s.timeout, client.MinSessionTimeout)
	}
	if s.description == "" {
		machine, err := os.Hostname()
		if err != nil {
			machine = "an unknown machine"
		}
		s.description = fmt.Sprintf("%s, process %d on %s", command, os.Getpid(), machine)
	}
	within, cancel, err := k.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	options = append(options, client.SessionTimeout(s.timeout), client.Description(s.description))
	session, err := box.Session(within, path, options...)
	return session, cli.EndedBy(within, err)
}

// cleanUp ends what the command holds, after its context has ended too, and prints a line where that failed.
func cleanUp(ctx context.Context, f *cli.Frame, what string, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	if err := do(ctx); err != nil {
		f.Say("signalbox: %s: %s", what, cli.Explain(err))
	}
}
