package hosts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// shardCommands returns the commands for shards.
func shardCommands(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "shard",
		Short: "Shards: list leaders, voters and learners; transfer a leadership",
		Long: `Data is divided into shards. Each shard has its own Raft log, replicated by voters.
Every host has a replica of every shard, or of some data shards if the policy sets
replicas. The meta shard stores nodes, hosts and routing.`,
	}, newShardList(f), newShardTransfer(f)))
}

// rolesText names the hosts whose replicas have a role.
func rolesText(c *admin.Cluster, s *admin.Shard, role admin.Role) string {
	var names []string
	for _, p := range s.Replicas {
		if p.Role == role {
			names = append(names, hostName(c, p.Host))
		}
	}
	return strings.Join(names, ",")
}

// stateText describes the state of a shard the governor observes.
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
		Short: "List shards with their replicas and failure tolerance",
		Long: `Lists the shards: leader, voters, learners, live voters, and how many more may fail. The
state is complete, filling (a replica is catching up), short (fewer voters than the
policy asks for), no leader, or no majority. -o wide adds the tolerance by failure
domain.`,
		Example: `  signalbox shard list -o wide`,
	}, func(_ context.Context, _ *client.Client, cluster *admin.Cluster, _ []string) error {
		rows := f.Rows("SHARD", "LEADER", "VOTERS", "LEARNERS", "STATE", "ALIVE", "TOLERATES#",
			"+FAILURE DOMAIN TOLERANCE")
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
			return []any{shardName(s.ID), hostName(cluster, s.Leader), rolesText(cluster, &s, admin.Voter),
				rolesText(cluster, &s, admin.Learner), state, alive, tolerates, strings.Join(domains, " ")}
		})
	})
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
