package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// deleter is an object that can be deleted.
type deleter interface {
	Delete(ctx context.Context, force bool) error
}

// deletion is how objects of a kind that sessions join are deleted.
type deletion[H deleter] struct {
	kind, part string // in words, also of those that have joined
	of         func(c *client.Client, path, name string) H
	completion cli.Completion
	count      func(ctx context.Context, handle H) (int, error) // of those that have joined
}

// command makes a command one that deletes. It asks before it does so by force.
func (d deletion[H]) command(f *cli.Frame, c *cobra.Command) *cobra.Command {
	var force bool
	c.Args = cli.Arguments("PATH", "NAME")
	c.ValidArgsFunction = f.Complete(f.Paths, d.completion)
	c.RunE = func(c *cobra.Command, args []string) error {
		remove := func(ctx context.Context, box *client.Client) error {
			err := d.of(box, args[0], args[1]).Delete(ctx, force)
			if errors.Is(err, client.ErrPreconditionFailed) && !force {
				return fmt.Errorf("%w; --force deletes it all the same", err)
			}
			if err == nil {
				f.Say("%s %s is deleted", d.kind, cli.Safe(args[1]))
			}
			return err
		}
		if !force {
			return f.Ask(c, remove)
		}
		describe := func(ctx context.Context, box *client.Client) (string, error) {
			n, err := d.count(ctx, d.of(box, args[0], args[1]))
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("this deletes %s %s of node %s with %s", d.kind, cli.Safe(args[1]), cli.Safe(args[0]),
				plural(n, d.part)), nil
		}
		return f.AskConfirmed(c, describe, remove)
	}
	c.Flags().BoolVar(&force, "force", false, "delete it though "+d.part+"s have joined")
	cli.AddYes(c)
	return c
}
