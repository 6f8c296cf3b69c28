package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newHost returns the commands about the hosts of a cluster.
func newHost(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "host",
		Short: "Hosts: list, add, drain, replace, expel",
		Long: `The hosts of a cluster come and go while it runs. Each is ONLINE, OFFLINE or
EXPELLED, and has a target: what it is to be. The governor, which runs at the host
that leads the meta shard, brings it there step by step, and never leaves a shard
with fewer voters than a majority. signalbox cluster why says what it waits for.

A host is named by its name or its id. What changes hosts needs a token with the
verb cluster for the path /, and is kept in the history: signalbox cluster audit.`,
	}, newHostList(f), newHostShow(f), newHostToken(f), newHostDrain(f), newHostUndrain(f),
		newHostExpel(f), newHostMoved(f)))
}

// hostView is a host with its replicas. In the answer of the HTTP API for the whole cluster the replicas stand in their
// shards.
type hostView struct {
	admin.Host
	AtTarget bool
	Replicas []replicaView
	observed bool
}

// replicaView is a replica with its shard.
type replicaView struct {
	Shard uint64
	Leads bool
	admin.Replica
}

func viewHost(c *admin.Cluster, h *admin.Host) *hostView {
	v := &hostView{Host: *h, AtTarget: h.AtTarget(), observed: c.Observed}
	for i := range c.Shards {
		s := &c.Shards[i]
		for _, p := range s.Replicas {
			if p.Host == h.ID {
				v.Replicas = append(v.Replicas, replicaView{s.ID, s.Leader == h.ID && p.Role == admin.Voter, p})
			}
		}
	}
	return v
}

// stateText says in a word or two how the host is.
func (v *hostView) stateText() string {
	text := v.Current.State.String()
	if !v.AtTarget {
		text += " -> " + v.Target.State.String()
	}
	if v.Cordoned {
		text += ", cordoned"
	}
	return text
}

// counts returns how many shards the host votes in, learns, and leads.
func (v *hostView) counts() (votes, learns, leads int) {
	for _, p := range v.Replicas {
		switch p.Role {
		case admin.Voter:
			votes++
		case admin.Learner:
			learns++
		}
		if p.Leads {
			leads++
		}
	}
	return votes, learns, leads
}

// aliveText says whether the governor hears the host, a dash if unknown.
func (v *hostView) aliveText() any {
	if !v.observed {
		return ""
	}
	return v.Alive
}

// sinceText is for how long something has been so.
func sinceText(d time.Duration) time.Duration { return d.Round(time.Second) }

// shortIncarnation is as much of an incarnation as is needed to know hosts apart.
func shortIncarnation(text string) string { return text[:min(8, len(text))] }

func newHostList(f *cli.Frame) *cobra.Command {
	var all, relaxed bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the hosts with their states",
		Long: `Lists the hosts of the cluster by id: what each is and is to be, why and since when,
whether the governor hears it, and in how many shards it votes, learns and leads.
-o wide shows addresses, failure domains and incarnations too.`,
		Example: `  signalbox host list
  signalbox host list -o wide

  # where no majority is left: what some host remembers
  signalbox host list --relaxed`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				cluster, err := describeCluster(ctx, box, relaxed)
				if err != nil {
					return err
				}
				return listHosts(f, cluster, all)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "hosts that have been expelled too")
	addRelaxed(c, &relaxed)
	return c
}

func addRelaxed(c *cobra.Command, relaxed *bool) {
	c.Flags().BoolVar(relaxed, "relaxed", false, "let any host answer from its memory, also where no majority is left")
}

func describeCluster(ctx context.Context, box *client.Client, relaxed bool) (*admin.Cluster, error) {
	if relaxed {
		return admin.Of(box).Describe(ctx, admin.Relaxed())
	}
	return admin.Of(box).Describe(ctx)
}

func listHosts(f *cli.Frame, c *admin.Cluster, all bool) error {
	rows := f.Rows("ID#", "NAME", "STATE", "REASON", "SINCE", "ALIVE", "VOTES#", "LEARNS#", "LEADS#", "VERSION",
		"+DOMAIN", "+INCARNATION", "+RAFT ADDRESS", "+CLIENT ADDRESS")
	for i := range c.Hosts {
		v := viewHost(c, &c.Hosts[i])
		if v.Current.State == admin.Expelled && !all {
			continue
		}
		votes, learns, leads := v.counts()
		if err := rows.Add(v, v.ID, v.Name, v.stateText(), cmp.Or(v.Target.Text, v.Target.Reason),
			sinceText(v.Target.Since), v.aliveText(), votes, learns, leads, v.Version, v.Domain,
			shortIncarnation(v.Incarnation), v.RaftAddress, v.ClientAddress); err != nil {
			return err
		}
	}
	return rows.End()
}

// memberOf returns the host that a user names: of several with a name the one that is not expelled, or else the last.
func memberOf(c *admin.Cluster, name string) (*admin.Host, error) {
	if h := cmp.Or(c.Named(name), c.Expelled(name)); h != nil {
		return h, nil
	}
	if id, err := strconv.ParseUint(name, 10, 64); err == nil {
		if h := c.Host(id); h != nil {
			return h, nil
		}
	}
	return nil, cli.Errorf(cli.ExitNotFound, "there is no host %s; signalbox host list shows them", cli.Safe(name))
}

func newHostShow(f *cli.Frame) *cobra.Command {
	var relaxed bool
	c := &cobra.Command{
		Use:   "show HOST",
		Short: "Show one host with its replicas",
		Long: `Shows a host: its states with reason and time, where it is reached, and its replicas
with how far they are. BEHIND is how long ago the leader of the shard had no more
than the replica has now.`,
		Example:           `  signalbox host show b`,
		Args:              cli.Arguments("HOST"),
		ValidArgsFunction: f.Complete(completeHosts(f)),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				cluster, err := describeCluster(ctx, box, relaxed)
				if err != nil {
					return err
				}
				h, err := memberOf(cluster, args[0])
				if err != nil {
					return err
				}
				return showHost(f, viewHost(cluster, h))
			})
		},
	}
	addRelaxed(c, &relaxed)
	return c
}

func showHost(f *cli.Frame, v *hostView) error {
	standing := func(s *admin.Standing) string {
		text := s.State.String() + ", " + s.Reason
		if s.Text != "" {
			text += ": " + s.Text
		}
		if s.By != "" {
			text += ", by " + s.By
		}
		return fmt.Sprintf("%s, since %v", text, sinceText(s.Since))
	}
	err := f.Fields(v, cli.Field{Name: "id", Cell: v.ID}, cli.Field{Name: "name", Cell: v.Name},
		cli.Field{Name: "current", Cell: standing(&v.Current)}, cli.Field{Name: "target", Cell: standing(&v.Target)},
		cli.Field{Name: "alive", Cell: v.aliveText()}, cli.Field{Name: "cordoned", Cell: v.Cordoned},
		cli.Field{Name: "failure domain", Cell: v.Domain}, cli.Field{Name: "version", Cell: v.Version},
		cli.Field{Name: "feature level", Cell: v.Level}, cli.Field{Name: "incarnation", Cell: v.Incarnation},
		cli.Field{Name: "starts", Cell: v.Starts}, cli.Field{Name: "raft address", Cell: v.RaftAddress},
		cli.Field{Name: "client address", Cell: v.ClientAddress},
		cli.Field{Name: "admin address", Cell: v.AdminAddress})
	if err != nil {
		return err
	}
	var rows [][]any
	for _, p := range v.Replicas {
		rows = append(rows, []any{shardName(p.Shard), p.ID, strings.ToLower(p.Role.String()), p.Leads,
			behindText(&p.Replica)})
	}
	return f.Section("Replicas", []string{"SHARD", "REPLICA#", "ROLE", "LEADS", "BEHIND"}, rows)
}

// behindText says how far a replica is behind, nothing where that is not known.
func behindText(p *admin.Replica) string {
	switch {
	case p.SnapshotPercent > 0:
		return fmt.Sprintf("snapshot %d %%", p.SnapshotPercent)
	case !p.Observed:
		return ""
	}
	return p.Behind.Truncate(time.Millisecond).String()
}

// shardName is the id of a shard as people know it.
func shardName(id uint64) string {
	if id == 0 {
		return "meta"
	}
	return strconv.FormatUint(id, 10)
}

// completeHosts completes the name of a host.
func completeHosts(f *cli.Frame) cli.Completion {
	return f.CompleteBy(func(ctx context.Context, box *client.Client, _ []string, _ string, add func(string) bool) {
		cluster, err := admin.Of(box).Describe(ctx, admin.Relaxed())
		if err != nil {
			return
		}
		for i := range cluster.Hosts {
			if h := &cluster.Hosts[i]; h.Target.State != admin.Expelled && !add(h.Name) {
				return
			}
		}
	})
}
