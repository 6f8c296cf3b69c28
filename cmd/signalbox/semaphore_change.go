package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newSemaphoreCreate(f *cli.Frame) *cobra.Command {
	limit, data := cli.Amount(1), ""
	c := &cobra.Command{
		Use:   "create PATH NAME",
		Short: "Create a persistent semaphore",
		Long: `Creates a semaphore with a limit, which "semaphore resize" changes, and shows it. It
stays until it is deleted. With a limit of 1 it is a lock; "all" is no limit: as many
owners as come.

If it exists the command ends with code 73 and changes nothing.

` + cli.DataHelp,
		Example: `  # a lock, and slots for three workers at a time
  signalbox semaphore create /prod/jobs nightly
  signalbox semaphore create /prod/jobs workers --limit 3

  # with data
  signalbox semaphore create /prod/jobs limits --data @limits.json`,
		Args:              cli.Arguments("PATH", "NAME"),
		ValidArgsFunction: f.Complete(f.Paths),
		RunE: func(c *cobra.Command, args []string) error {
			value, err := f.Data(data)
			if err != nil {
				return err
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				node := box.Node(args[0])
				if err := node.Create(ctx, args[1], uint64(limit), value); err != nil {
					return err
				}
				return showSemaphore(ctx, f, box, args, true)
			})
		},
	}
	c.Flags().Var(&limit, "limit", "how much of it there is, from 1 on, or all")
	c.Flags().StringVar(&data, "data", "", "its data: `TEXT`, @FILE, or - for standard input")
	return c
}

func newSemaphoreUpdate(f *cli.Frame) *cobra.Command {
	var revision uint64
	c := &cobra.Command{
		Use:   "update PATH NAME DATA",
		Short: "Replace the data of a semaphore",
		Long: `Replaces the data of a semaphore. Who owns it does not matter; with --if-revision
nothing changes unless the semaphore has that revision, and the command ends with
code 79 otherwise.

` + cli.DataHelp,
		Example: `  signalbox semaphore update /prod/jobs workers 'eu-1'
  signalbox semaphore update /prod/jobs limits @limits.json

  # only if it is as it was looked at
  r=$(signalbox semaphore describe /prod/jobs limits -o json | jq .revision)
  signalbox semaphore update /prod/jobs limits @limits.json --if-revision $r`,
		Args:              cli.Arguments("PATH", "NAME", "DATA"),
		ValidArgsFunction: f.Complete(f.Paths, f.Names),
		RunE: func(c *cobra.Command, args []string) error {
			value, err := f.Data(args[2])
			if err != nil {
				return err
			}
			var guards []client.UpdateOption
			if c.Flags().Changed("if-revision") {
				guards = append(guards, client.IfRevision(revision))
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				if err := box.Node(args[0]).Update(ctx, args[1], value, guards...); err != nil {
					return err
				}
				f.Say("semaphore %s has %s of data now", cli.Safe(args[1]), plural(len(value), "byte"))
				return nil
			})
		},
	}
	c.Flags().Uint64Var(&revision, "if-revision", 0, "update it only if it has this revision, `NUMBER`")
	return c
}

func newSemaphoreResize(f *cli.Frame) *cobra.Command {
	var revision uint64
	c := &cobra.Command{
		Use:   "resize PATH NAME LIMIT",
		Short: "Change the limit of a semaphore",
		Long: `Gives a persistent semaphore another limit, and shows it. A higher one lets in those
who wait, in their order. A lower one takes nothing from anybody: its owners keep what
they have, and nobody gets anything until they have released enough. Who waits for
more than the limit is turned away when its turn comes. "all" is no limit.

With --if-revision nothing changes unless the semaphore has that revision, and the
command ends with code 79 otherwise. Programs that name the old limit when they
acquire go on under the new one.`,
		Example: `  signalbox semaphore resize /prod/jobs workers 5

  # only if it is as it was looked at
  r=$(signalbox semaphore describe /prod/jobs workers -o json | jq .revision)
  signalbox semaphore resize /prod/jobs workers 5 --if-revision $r`,
		Args:              cli.Arguments("PATH", "NAME", "LIMIT"),
		ValidArgsFunction: f.Complete(f.Paths, f.Names),
		RunE: func(c *cobra.Command, args []string) error {
			var limit cli.Amount
			if err := limit.Set(args[2]); err != nil {
				return cli.Errorf(cli.ExitUsage, "LIMIT: %w", err)
			}
			var guards []client.UpdateOption
			if c.Flags().Changed("if-revision") {
				guards = append(guards, client.IfRevision(revision))
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				node := box.Node(args[0])
				if err := node.Resize(ctx, args[1], uint64(limit), guards...); err != nil {
					return err
				}
				return showSemaphore(ctx, f, box, args, true)
			})
		},
	}
	c.Flags().Uint64Var(&revision, "if-revision", 0, "resize it only if it has this revision, `NUMBER`")
	return c
}

func newSemaphoreDelete(f *cli.Frame) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "delete PATH NAME",
		Short: "Delete a semaphore",
		Long: `Deletes a semaphore. One that somebody owns or waits for is not deleted, and the
command ends with code 79, unless there is --force: then its owners lose what
they hold and its waiters are turned away, which they are told. Since that hurts,
the command says who they are and asks, unless there is --yes.`,
		Example: `  signalbox semaphore delete /prod/jobs workers

  # though it is in use
  signalbox semaphore delete /prod/jobs workers --force
  signalbox semaphore delete /prod/jobs workers --force --yes`,
		Args:              cli.Arguments("PATH", "NAME"),
		ValidArgsFunction: f.Complete(f.Paths, f.Names),
		RunE: func(c *cobra.Command, args []string) error {
			path, name := args[0], args[1]
			remove := func(ctx context.Context, box *client.Client, options ...client.DeleteOption) error {
				if err := box.Node(path).Delete(ctx, name, options...); err != nil {
					return err
				}
				f.Say("semaphore %s is deleted", cli.Safe(name))
				return nil
			}
			if !force {
				return f.Ask(c, func(ctx context.Context, box *client.Client) error {
					err := remove(ctx, box)
					if errors.Is(err, client.ErrPreconditionFailed) {
						err = fmt.Errorf("%w; --force deletes it all the same", err)
					}
					return err
				})
			}
			describe := func(ctx context.Context, box *client.Client) (string, error) {
				d, err := box.Node(path).Describe(ctx, name)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("this deletes semaphore %s of node %s with %s and %s",
					cli.Safe(name), cli.Safe(path), plural(d.OwnerCount, "owner"), plural(d.WaiterCount, "waiter")), nil
			}
			return f.AskConfirmed(c, describe, func(ctx context.Context, box *client.Client) error {
				return remove(ctx, box, client.Force())
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "delete it though it is in use")
	cli.AddYes(c)
	return c
}
