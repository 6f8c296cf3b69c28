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
		Long: `Publishes a version, which is then delivered location by location, and prints the
version number. The rollout does not interpret DATA: pass the payload itself, or a
reference to it.

With --expect the version is published only if the newest version has the given number.
With --fence the version is published only if no version has a higher fencing token; use
SIGNALBOX_FENCE from signalbox lock. Otherwise the exit code is 79.

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
	c.Flags().Uint64Var(&expect, "expect", 0, "Publish only if the newest version is `VERSION`. 0: only if there "+
		"is no version")
	c.Flags().Uint64Var(&fence, "fence", 0, "Fencing token, `NUMBER`. Publish only if no version has a higher one")
	flags.Add(c, "rollout")
	return c
}
