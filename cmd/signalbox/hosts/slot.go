package hosts

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol"
)

// slotCommands returns the commands for slots.
func slotCommands(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "slot",
		Short: "Slots: show which shard has a name, move a slot",
		Long: `A slot is a group of names. Signalbox hashes every name to one of 4096 slots, and each
slot belongs to one data shard. If a slot moves to another shard, its semaphores,
rollouts, processes and sessions move along. Slots move by an operator's order, and after
shards were added, removed or weighed: signalbox cluster rebalance.`,
	}, newSlotMove(f)))
}

func newSlotMove(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	var to uint64
	var large, cancel bool
	c := &cobra.Command{
		Use:   "move SLOT --to SHARD",
		Short: "Move a slot to another shard",
		Long: `Orders a slot move to another data shard, and returns without waiting for the move. The
governor carries out the order, and retries if an attempt fails. After two failures, it
waits for ten minutes before each new attempt; repeat the order to retry immediately.
signalbox slot list shows the move and the last error. signalbox cluster why shows why a
move does not start.

Requests for names in the slot wait briefly while the slot moves. Locks, queues and
sessions survive.

--cancel cancels the order, but does not interrupt an attempt in progress: the slot ends
up in the new shard if that shard already has it, otherwise in the old shard.`,
		Example: `  signalbox slot list /prod leader
  signalbox slot move 1669 --to 5 --reason "shard 3 is busy"
  signalbox slot move 1669 --cancel`,
		Args: cli.Arguments("SLOT"),
		RunE: func(c *cobra.Command, args []string) error {
			slot, err := strconv.ParseUint(args[0], 10, 64)
			switch {
			case err != nil:
				return cli.Errorf(cli.ExitUsage, "%s is not a slot; give a number from 0 to %d", cli.Safe(args[0]),
					protocol.Slots-1)
			case cancel && (to != 0 || large):
				return cli.Misuse(c, "--cancel cannot be combined with --to or --large")
			case !cancel && to == 0:
				return cli.Misuse(c, "--to is missing")
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				a, by := admin.New(box), admin.ChangeInfo(flags.By(f))
				report := func(changed bool, err error, done, already string) error {
					switch {
					case err != nil:
						return err
					case !changed:
						done = already
					}
					return f.Done(changed, "slot %d %s", slot, done)
				}
				if cancel {
					changed, err := a.CancelSlotMove(ctx, slot, by)
					return report(changed, err, "has no order to move any more", "had no order to move")
				}
				changed, err := a.MoveSlot(ctx, slot, to, large, by)
				return report(changed, err, fmt.Sprintf("is to move to shard %d", to),
					fmt.Sprintf("is in shard %d, or was already to move there", to))
			})
		},
	}
	c.Flags().Uint64Var(&to, "to", 0, "`NUMBER` of the data shard that gets the slot")
	c.Flags().BoolVar(&large, "large", false, "Move up to 8 MiB instead of 1 MiB. Clients of the slot then wait longer")
	c.Flags().BoolVar(&cancel, "cancel", false, "Cancel the order to move the slot")
	flags.Add(c, "history")
	return c
}
