package process

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newCreate(f *cli.Frame) *cobra.Command {
	flags, orAlter := processFlags{}, false
	c := &cobra.Command{
		Use:   "create PATH NAME",
		Short: "Create a process",
		Long: `Creates a process, and shows it. Members can also create the process when they join.

When members join or leave, the next epoch opens after --open-delay without a further
change, so many members that start together cause one epoch. With 1ms the epoch opens at
once when --min-members is reached. --on-timeout sets what happens to a member that is
not prepared, or does not reply, within --reply-timeout:

  wait   wait for the member; signalbox process why names the member
  evict  evict the member, which opens a new epoch
  fail   return the replies so far to the sender; keep waiting for unprepared members

If the process exists the exit code is 73, and nothing changes. With --or-alter the
existing process gets this spec.`,
		Example: `  signalbox process create /prod counter

  # rounds of three and more, and who is silent for a minute is put out
  signalbox process create /prod counter --min-members 3 --reply-timeout 1m --on-timeout evict`,
		RunE: func(c *cobra.Command, args []string) error {
			spec := process.Spec{}.WithDefaults()
			if err := flags.apply(c, &spec); err != nil {
				return err
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				p, by, err := process.New(box, args[0], args[1]), process.ChangeInfo(flags.act.By(f)), error(nil)
				if orAlter {
					_, err = p.Put(ctx, spec, by)
				} else {
					err = p.Create(ctx, spec, by)
				}
				return object.Changed(ctx, f, box, args, err)
			})
		},
	}
	flags.add(c, process.Spec{}.WithDefaults())
	c.Flags().BoolVar(&orAlter, "or-alter", false, "Alter the process if it exists")
	return c
}

func newAlter(f *cli.Frame) *cobra.Command {
	flags := processFlags{}
	c := &cobra.Command{
		Use:   "alter PATH NAME",
		Short: "Change the spec of a process",
		Long: `Changes the settings given by flags, and shows the process. The current round continues.

Concurrent changes by several operators are all kept.`,
		Example: `  signalbox process alter /prod counter --reply-timeout 30s --reason 'members hang'`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				err := process.New(box, args[0], args[1]).Alter(ctx, process.ChangeInfo(flags.act.By(f)),
					func(spec *process.Spec) error { return flags.apply(c, spec) })
				return object.Changed(ctx, f, box, args, err)
			})
		},
	}
	flags.add(c, process.Spec{})
	return c
}
