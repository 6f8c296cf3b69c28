package rollout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

func newPublish(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	var label string
	var expect, fence uint64
	c := &cobra.Command{
		Use:   "publish PATH NAME DATA",
		Short: "Publish a version of up to 64 KiB",
		Long: `Publishes a version, which then goes from location to location, and prints its number.
What DATA is means nothing to the rollout: it can be the data itself or say where
that is.

With --expect nothing is published unless the newest version has that number, and the
command ends with code 79 otherwise. With --fence it is so where a version was
published under a higher fencing token, such as SIGNALBOX_FENCE of signalbox lock.

` + cli.DataHelp,
		Example: `  signalbox rollout publish /prod dns @zones.json --label r9554 --reason 'new zone'

  # by one publisher at a time, and never by one that lost its lock
  signalbox lock /prod dns-publisher -- sh -c \
    'signalbox rollout publish /prod dns @zones.json --fence $SIGNALBOX_FENCE'`,
		RunE: func(c *cobra.Command, args []string) error {
			payload, err := f.Data(args[2])
			if err != nil {
				return err
			}
			by := flags.By(f)
			options := []rollout.PublishOption{rollout.Label(label), rollout.Author(by.Author),
				rollout.Reason(by.Reason), rollout.FenceToken(fence)}
			if c.Flags().Changed("expect") {
				options = append(options, rollout.Expect(expect))
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				seq, err := rollout.New(box, args[0], args[1]).Publish(ctx, payload, options...)
				if err != nil {
					return err
				}
				return f.Line(operation.Published{Version: seq}, "published version %s of %s",
					cli.Safe(versionText(seq, label)), cli.Safe(args[1]))
			})
		},
	}
	c.Flags().StringVar(&label, "label", "", "Version label for people, `TEXT`, such as a build, a commit or a "+
		"timestamp")
	c.Flags().Uint64Var(&expect, "expect", 0, "Publish only if this is the newest `VERSION`. 0: only if there is none")
	c.Flags().Uint64Var(&fence, "fence", 0, "Fencing token, `NUMBER`. Publish only if no version has a higher one")
	flags.Add(c, "rollout")
	return c
}
