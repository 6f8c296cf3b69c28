package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
)

// CleanUpTime is the time limit for a command's cleanup in the cluster while the command ends. Anything left in the
// cluster ends with the session timeout.
const CleanUpTime = 2 * time.Second

// SessionFlags are the flags for commands with a session.
type SessionFlags struct {
	timeout     time.Duration
	description string
}

// Add adds the flags to a command.
func (s *SessionFlags) Add(c *cobra.Command) {
	c.Flags().DurationVar(&s.timeout, "session-timeout", client.DefaultSessionTimeout,
		"Session timeout: time without contact after which the session expires, `DURATION` up to 30m")
	c.Flags().StringVar(&s.description, "description", "", "Description shown by signalbox session list, `TEXT`. "+
		"Default: the command and the machine")
}

// Open starts a session in a node. The caller must close the session with CleanUp.
func (s *SessionFlags) Open(ctx context.Context, k *Connection, box *client.Client, path, command string,
	options ...client.SessionOption) (*client.Session, error) {
	if s.timeout < client.MinSessionTimeout {
		return nil, Errorf(ExitUsage, "--session-timeout %v is too short to keep a session alive; give at least "+
			"%v, such as 10s", s.timeout, client.MinSessionTimeout)
	}
	if s.description == "" {
		machine, _ := os.Hostname()
		s.description = fmt.Sprintf("%s, process %d on %s", command, os.Getpid(), cmp.Or(machine, "an unknown machine"))
	}
	within, cancel := k.Within(ctx)
	defer cancel()
	options = append(options, client.SessionTimeout(s.timeout), client.Description(s.description))
	session, err := box.Session(within, path, options...)
	return session, EndedBy(within, err)
}

// Stay runs a long-running command with a session in the node PATH, the first argument.
func (s *SessionFlags) Stay(f *Frame, c *cobra.Command, args []string,
	do func(context.Context, *Connection, *client.Session) error, options ...client.SessionOption) error {
	return f.Stay(c, func(ctx context.Context, k *Connection, box *client.Client) error {
		session, err := s.Open(ctx, k, box, args[0], c.CommandPath()+" "+args[1], options...)
		if err != nil {
			return err
		}
		defer CleanUp(ctx, f, "end the session", session.Close)
		return do(ctx, k, session)
	})
}

// CleanUp releases something the command holds, even after its context has ended, and prints a line if this fails.
func CleanUp(ctx context.Context, f *Frame, what string, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CleanUpTime)
	defer cancel()
	if err := do(ctx); err != nil {
		f.Say("signalbox: %s: %s", what, Explain(err))
	}
}
