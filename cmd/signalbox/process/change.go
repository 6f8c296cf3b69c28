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
		Short: "Create a process: how its epochs open, and what becomes of who is silent",
		Long: `Creates a process, and shows it. Members can also create it when they join: this is for
what they do not say, or to have it said in one place.

When members join or leave, the next epoch opens after --open-delay without a change, so
that many who start at once cause one epoch. With 1ms it opens at once with the member
that makes up --min-members. What becomes of a member that is not prepared, or does not
reply, within --reply-timeout, --on-timeout says:

  wait   it is waited for, and named by signalbox process why
  evict  it is put out, which causes another epoch
  fail   the sender gets the replies that there are; who is not prepared is waited for

If it exists the command ends with code 73 and changes nothing, unless there is
--or-alter: then it gets this spec, whatever it had.`,
		Example: `  signalbox process create /prod counter

  # rounds of three and more, and who is silent for a minute is put out
  signalbox process create /prod counter --min-members 3 --reply-timeout 1m --on-timeout evict`,
		RunE: func(c *cobra.Command, args []string) error {
			spec := process.Spec{}.WithDefaults()
			if err := flags.apply(c, &spec); err != nil {
				return err
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				p, by, err := process.Of(box, args[0], args[1]), process.By(flags.act.By(f)), error(nil)
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
		Short: "Change what was said of a process",
		Long: `Changes what the flags say of a process, leaves the rest, and shows it. The round that
there is goes on.

Where another operator changes the process meanwhile, no change gets lost.`,
		Example: `  signalbox process alter /prod counter --reply-timeout 30s --reason 'members hang'`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				err := process.Of(box, args[0], args[1]).Alter(ctx, process.By(flags.act.By(f)),
					func(spec *process.Spec) error { return flags.apply(c, spec) })
				return object.Changed(ctx, f, box, args, err)
			})
		},
	}
	flags.add(c, process.Spec{})
	return c
}
