package hosts

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/shard"
)

// shardCommands returns the commands for shards.
func shardCommands(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "shard",
		Short: "Shards: list, add, remove, weigh; transfer a leadership",
		Long: `Data is divided into shards. Each shard has its own Raft log, replicated by voters.
Every host has a replica of every shard, or of some data shards if the policy sets
replicas. The meta shard stores nodes, hosts and routing. Each data shard has slots in
proportion to its weight; if shards or weights change, the governor moves slots.`,
	}, newShardList(f), newShardAdd(f), newShardRemove(f), newShardTransfer(f)))
}

// rolesText names the hosts with replicas in a role.
func rolesText(c *admin.Cluster, s *admin.Shard, role admin.Role) string {
	var names []string
	for _, p := range s.Replicas {
		if p.Role == role {
			names = append(names, hostName(c, p.Host))
		}
	}
	return strings.Join(names, ",")
}

// stateText describes a shard's state, as observed by the governor.
func stateText(s *admin.Shard) string {
	switch {
	case s.Tolerated < 0:
		return "no majority"
	case s.Leader == 0:
		return "no leader"
	case s.Voters < s.Wanted:
		return fmt.Sprintf("short by %d", s.Wanted-s.Voters)
	case slices.ContainsFunc(s.Replicas, func(p admin.Replica) bool {
		return p.Role == admin.Learner && (!p.Observed || p.Behind > time.Second)
	}):
		return "filling"
	}
	return "complete"
}

func newShardList(f *cli.Frame) *cobra.Command {
	return clusterReader(f, &cobra.Command{
		Use:   "list",
		Short: "List shards with their replicas, slots and failure tolerance",
		Long: `Lists the shards: leader, voters, learners, live voters, and how many more may fail. The
state is complete, filling (a replica is catching up), short (fewer voters than the
policy asks for), no leader, or no majority.

SLOTS is the number of slots of a data shard. If the shard's weight asks for another
number, SLOTS shows both, such as "3609, wants 2048".

-o wide adds the weight, the phase, and the tolerance by failure domain. The phases:
  serving   has slots in proportion to its weight
  added     new; takes slots once all its voters are live
  leaving   to be removed; its slots move to other shards
  retired   removed; the hosts delete its replicas`,
		Example: `  signalbox shard list -o wide`,
	}, func(ctx context.Context, box *client.Client, cluster *admin.Cluster, _ []string) error {
		rows := f.Rows("SHARD", "LEADER", "VOTERS", "LEARNERS", "STATE", "ALIVE", "TOLERATES#", "SLOTS",
			"+WEIGHT#", "+PHASE", "+FAILURE DOMAIN TOLERANCE")
		slots := slotsByShard(ctx, box)
		return cli.List(rows, cluster.Shards, func(s admin.Shard) []any {
			state, alive, tolerates := "", "", ""
			if cluster.Observed {
				state = stateText(&s)
				alive, tolerates = fmt.Sprintf("%d of %d", s.Live, s.Voters), strconv.Itoa(max(0, s.Tolerated))
			}
			var domains []string
			for _, d := range s.Domains {
				if d.Tolerated {
					domains = append(domains, d.Label)
				}
			}
			owned, weight, phase := "", "", ""
			if of, ok := slots[s.ID]; ok {
				owned, weight, phase = slotsText(&of), strconv.FormatUint(of.Weight, 10), of.Phase
			}
			return []any{shardName(s.ID), hostName(cluster, s.Leader), rolesText(cluster, &s, admin.Voter),
				rolesText(cluster, &s, admin.Learner), state, alive, tolerates, owned, weight, phase,
				strings.Join(domains, " ")}
		})
	})
}

// slotsByShard returns the slots of each data shard, or nothing if no meta shard leader answers soon: a shard list is
// needed most then.
func slotsByShard(ctx context.Context, box *client.Client) map[uint64]admin.ShardSlots {
	within, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	r, err := admin.New(box).Rebalancing(within)
	if err != nil {
		return nil
	}
	slots := make(map[uint64]admin.ShardSlots, len(r.Shards))
	for _, s := range r.Shards {
		slots[s.ID] = s
	}
	return slots
}

// slotsText describes how many slots a shard owns, and should own.
func slotsText(s *admin.ShardSlots) string {
	if s.Slots == s.Target {
		return strconv.Itoa(s.Slots)
	}
	return fmt.Sprintf("%d, wants %d", s.Slots, s.Target)
}

func newShardAdd(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "add COUNT",
		Short: "Add data shards",
		Long: `Adds data shards, and returns without waiting. The governor adds the replicas. Once all
voters of a shard are live, the shard takes slots from other shards, in proportion to its
weight. Locks, queues and sessions survive the moves. Shard ids are used once: a cluster
has up to 256 data shards, and up to 1023 in its lifetime.

signalbox shard list shows the progress. signalbox cluster why --wait waits for the end.`,
		Example: `  signalbox shard add 12 --reason "six new hosts"`,
		Args:    cli.Arguments("COUNT"),
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			count, err := cli.Number(args[0], "the number of shards to add")
			if err != nil {
				return err
			}
			by := admin.ChangeInfo(flags.By(f))
			ids, err := admin.New(box).AddShards(ctx, int(min(count, math.MaxInt)), by)
			if err != nil {
				return err
			}
			f.Say("%s slots once all voters are live", shardsText(ids, "is added; it takes", "are added; they take"))
			if f.JSON() {
				return f.Object(operation.AddedShards{Shards: ids})
			}
			return nil
		}),
	}
	flags.Add(c, "history")
	return c
}

func newShardRemove(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "remove SHARD...",
		Short: "Remove data shards",
		Long: `Removes data shards, and returns without waiting. The governor moves the slots to other
shards, then deletes the replicas. A removed shard's number is never used again. Locks,
queues and sessions survive the moves. SHARD is a number, or a range such as 5-16.

The command is refused if no other shard could take the slots. A slot with more than 8
MiB or 120,000 records stays, and so does its shard: signalbox cluster why names the slot.`,
		Example: `  signalbox shard remove 5-16 --reason "fewer hosts"`,
		Args:    cobra.MinimumNArgs(1),
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			ids, err := shardsOf(args)
			if err != nil {
				return err
			}
			changed, err := admin.New(box).RemoveShards(ctx, ids, admin.ChangeInfo(flags.By(f)))
			switch {
			case err != nil:
				return err
			case !changed:
				return f.Done(false, "%s already to be removed", shardsText(ids, "was", "were"))
			}
			return f.Done(true, "%s slots have moved to other shards", shardsText(ids, "is to be removed once its",
				"are to be removed once their"))
		}),
	}
	flags.Add(c, "history")
	return c
}

// shardsOf parses data shards, which are given as numbers and as ranges.
func shardsOf(texts []string) (ids []uint64, err error) {
	for _, text := range texts {
		from, to, ranged := strings.Cut(text, "-")
		first, err := strconv.ParseUint(from, 10, 64)
		last := first
		if err == nil && ranged {
			last, err = strconv.ParseUint(to, 10, 64)
		}
		if err != nil || first == 0 || first > last || last > shard.MaxShard {
			return nil, cli.Errorf(cli.ExitUsage, "%s is not a data shard; give a number from 1 to %d, or a range "+
				"such as 5-16", cli.Safe(text), shard.MaxShard)
		}
		for id := first; id <= last; id++ {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// shardsText names shards, with the verb for one shard or for several: "shard 5 is", "shards 5-16 are".
func shardsText(ids []uint64, is, are string) string {
	if len(ids) == 1 {
		return "shard " + rangesText(ids) + " " + is
	}
	return "shards " + rangesText(ids) + " " + are
}

// rangesText returns ascending numbers as numbers and ranges.
func rangesText(ids []uint64) string {
	var parts []string
	for i := 0; i < len(ids); {
		end := i + 1
		for end < len(ids) && ids[end] == ids[end-1]+1 {
			end++
		}
		part := strconv.FormatUint(ids[i], 10)
		if end > i+1 {
			part += "-" + strconv.FormatUint(ids[end-1], 10)
		}
		parts, i = append(parts, part), end
	}
	return strings.Join(parts, ", ")
}

func newShardTransfer(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "transfer-leader SHARD HOST",
		Short: "Transfer the leadership of a shard to a host",
		Long: `Asks the governor to transfer the leadership of a shard to a host, which must be online
and a voter of the shard. The governor tries for a minute. SHARD is a number, or meta.`,
		Example: `  signalbox shard transfer-leader 3 b
  signalbox shard transfer-leader meta a`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := shardOf(args[0])
			if err != nil {
				return err
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				changed, err := admin.New(box).TransferLeader(ctx, id, args[1], admin.ChangeInfo(flags.By(f)))
				return f.ReportAct("shard "+shardName(id), "to be led by "+cli.Safe(args[1]), changed, err)
			})
		},
	}
	flags.Add(c, "history")
	return c
}

// shardOf parses a shard's user-visible name.
func shardOf(text string) (uint64, error) {
	if text == "meta" {
		return 0, nil
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, cli.Errorf(cli.ExitUsage, "%s is not a shard; give a number, or meta", cli.Safe(text))
	}
	return id, nil
}
