package hosts

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newClusterStep returns the commands for the governor's open steps.
func newClusterStep(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "step",
		Short: "Open steps of the governor: list, cancel, retry",
		Long: `The governor changes the cluster in steps, such as adding a replica or moving a vote.
These commands list the open steps, cancel a step, or retry a failed step at once.`,
	}, newStepList(f), newStepCancel(f), newStepRetry(f))
}

func newStepList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the open steps",
		Long:    `Lists the steps in progress, each with its failure count and last error.`,
		Example: `  signalbox cluster step list`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			why, err := admin.New(box).Why(ctx)
			if err != nil {
				return err
			}
			return cli.List(f.Rows(stepTitles...), why.Steps, stepCells)
		}),
	}
}

func newStepCancel(f *cli.Frame) *cobra.Command {
	var hold time.Duration
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel an open step",
		Long: `Cancels an open step. Work that the step has done already stays. The governor starts no
step with the same subject until --hold has passed.`,
		Example: `  signalbox cluster step cancel 77 --hold 10m --reason "the network is being worked on"`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			id, err := cli.Number(args[0], "a step id, as shown by signalbox cluster step list")
			if err != nil {
				return err
			}
			changed, err := admin.New(box).CancelStep(ctx, id, hold, admin.ChangeInfo(flags.By(f)))
			return f.ReportAct(fmt.Sprintf("step %d", id), "over", changed, err)
		}),
	}
	c.Flags().DurationVar(&hold, "hold", time.Minute, "Time before the governor may open a step with this "+
		"subject again, `DURATION` up to 24h")
	flags.Add(c, "history")
	return c
}

func newStepRetry(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "retry SUBJECT",
		Short: "Retry a failed step at once",
		Long: `Ends the delay after a failure: the governor retries the step at once. SUBJECT is the
step's subject, as shown by signalbox cluster why -o json.`,
		Example: `  signalbox cluster step retry shard/3`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			err := admin.New(box).RetryStep(ctx, args[0], admin.ChangeInfo(flags.By(f)))
			return f.ReportAct(args[0], "tried again", true, err)
		}),
	}
	flags.Add(c, "history")
	return c
}
