package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
)

// yesFlag answers AskConfirmed's question.
const yesFlag = "yes"

// AddYes adds the flag that answers AskConfirmed's question.
func AddYes(c *cobra.Command) {
	c.Flags().BoolP(yesFlag, "y", false, "Do not ask for confirmation")
}

// AskConfirmed is Ask for an action that cannot be undone: describe returns what would be affected, such as "this
// drops node /prod with 3 sessions", and unless --yes is given, the user is asked first. Without a terminal to ask
// on, nothing is done. While the question is open, there is no connection, and no timeout runs.
func (f *Frame) AskConfirmed(c *cobra.Command, describe func(context.Context, *client.Client) (what string, err error),
	do func(context.Context, *client.Client) error,
) error {
	if err := f.Confirmed(c, describe); err != nil {
		return err
	}
	return f.Ask(c, do)
}

// Confirmed returns nil if the user has agreed to describe's text, or has given --yes.
func (f *Frame) Confirmed(c *cobra.Command, describe func(context.Context, *client.Client) (string, error)) error {
	if yes, err := c.Flags().GetBool(yesFlag); err == nil && yes {
		return nil
	}
	var what string
	err := f.Ask(c, func(ctx context.Context, box *client.Client) (err error) {
		what, err = describe(ctx, box)
		return err
	})
	if err != nil {
		return err
	}
	return f.confirm(what)
}

// confirm asks whether to do something.
func (f *Frame) confirm(what string) error {
	if !IsTerminal(f.In) || !IsTerminal(f.Err) {
		return Errorf(ExitUsage, "%s; nothing was done, because there is no terminal to ask for confirmation; "+
			"pass --yes to confirm",
			what)
	}
	fmt.Fprintf(f.Err, "%s. Continue? [y/N] ", Escape(strings.ToUpper(what[:1])+what[1:]))
	line, _ := bufio.NewReader(f.In).ReadString('\n') // an answer that breaks off is no answer
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}
