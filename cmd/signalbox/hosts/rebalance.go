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

// rebalanceOrders are the orders about rebalancing, by flag.
var rebalanceOrders = []struct {
	flag, help string
	action     admin.RebalanceAction
	done       string
}{
	{"now", "Continue, without pacing until all slots are in place", admin.RebalanceNow,
		"continues, without pacing"},
	{"pause", "Begin no further move. Moves in progress finish", admin.RebalancePause, "is paused"},
	{"resume", "Continue", admin.RebalanceResume, "continues"},
	{"cancel", "Pause, and refuse the moves in progress. Slots opened by the new shard stay there",
		admin.RebalanceCancel, "is paused, and moves in progress are cancelled"},
}

func newClusterRebalance(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	dryRun, given := false, make([]bool, len(rebalanceOrders))
	c := &cobra.Command{
		Use:   "rebalance",
		Short: "Show, pause, resume or cancel rebalancing",
		Long: `When data shards or their weights change, the governor moves slots until each shard has
slots in proportion to its weight. Without a flag, the command shows the slots of each
shard and the remaining moves.

Moves are paced: a shard rests after each move, and no move starts while commits are
slow. With --now, moves start without these delays until each shard has its slots.
Meanwhile, clients may see higher latency.

--pause and --cancel affect only these moves, not moves ordered by signalbox slot move.
--resume also moves back slots that operators have moved to other shards.

signalbox cluster why shows why a move does not start.`,
		Example: `  signalbox cluster rebalance
  signalbox cluster rebalance --pause --reason "a busy evening"
  signalbox cluster rebalance --resume`,
		RunE: func(c *cobra.Command, _ []string) error {
			order, orders := -1, 0
			for i, is := range given {
				if is {
					order, orders = i, orders+1
				}
			}
			if orders > 1 || orders == 1 && dryRun {
				return cli.Misuse(c, "give one of --now, --pause, --resume, --cancel and --dry-run")
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				if order < 0 {
					return showRebalancing(ctx, f, box, dryRun)
				}
				o := &rebalanceOrders[order]
				changed, err := admin.New(box).Rebalance(ctx, o.action, admin.ChangeInfo(flags.By(f)))
				switch {
				case err != nil:
					return err
				case !changed:
					return f.Done(false, "nothing has changed: the order is in force, or all slots are in place")
				}
				return f.Done(true, "rebalancing %s", o.done)
			})
		},
	}
	for i, o := range rebalanceOrders {
		c.Flags().BoolVar(&given[i], o.flag, false, o.help)
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "Show only the moves that are still required")
	flags.Add(c, "history")
	return c
}

// showRebalancing shows the shards and the required moves, or only these moves.
func showRebalancing(ctx context.Context, f *cli.Frame, box *client.Client, dryRun bool) error {
	r, err := admin.New(box).Rebalancing(ctx)
	if err != nil {
		return err
	}
	fields := cli.Fields("rebalancing", rebalancingText(r), "slots to move", r.Pending())
	if r.Age > 0 {
		fields = append(fields, cli.Fields("last order", fmt.Sprintf("by %s, %v ago: %s", cli.Safe(r.Author),
			r.Age.Round(time.Second), cli.Safe(r.Reason)))...)
	}
	moves := cli.Section("Moves", []string{"FROM#", "TO#", "SLOTS#"},
		cli.Map(r.Planned, func(p admin.PlannedMoves) []any { return []any{p.From, p.To, p.Slots} }))
	if dryRun {
		return f.Show(r, fields, moves)
	}
	shards := cli.Section("Shards", []string{"SHARD#", "PHASE", "WEIGHT#", "SLOTS#", "TARGET#"},
		cli.Map(r.Shards, func(s admin.ShardSlots) []any { return []any{s.ID, s.Phase, s.Weight, s.Slots, s.Target} }))
	return f.Show(r, fields, shards, moves)
}

// rebalancingText describes the state of rebalancing.
func rebalancingText(r *admin.Rebalancing) string {
	switch {
	case r.Paused:
		return "paused"
	case r.Pending() == 0:
		return "nothing to move"
	case r.NoPacing:
		return "in progress, without pacing"
	}
	return "in progress"
}
