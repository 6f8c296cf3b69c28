// Package hosts implements the commands for a cluster's hosts, its shards, and the governor.
//
// Start at Commands. act.go contains the actions on a host, cluster.go the questions to the governor, and wait.go
// waits until the governor has nothing left to do. moved.go works on a stopped host's directory.
package hosts

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

// Commands returns the commands for hosts, shards, slots, and for a cluster as a whole. Another package creates the
// recovery command.
func Commands(f *cli.Frame, recovery *cobra.Command) []*cobra.Command {
	return []*cobra.Command{hostCommands(f), shardCommands(f), slotCommands(f), clusterCommands(f, recovery)}
}

// hostCommands returns the commands for a cluster's hosts.
func hostCommands(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "host",
		Short: "Hosts: list, add, drain, replace, decommission",
		Long: `Hosts join and leave a running cluster. Each host is ONLINE, OFFLINE or EXPELLED, and
has a target state. The governor, which runs on the leader of the meta shard, brings
hosts to their targets step by step, and never leaves a shard without a quorum of
voters. signalbox cluster why shows what the governor waits for.

A host is given by name or id. Commands that change hosts need the permission cluster on
the path /, and are recorded in the audit log: signalbox cluster audit.`,
	}, newHostList(f), newHostShow(f), newHostToken(f), newHostDrain(f), newHostUndrain(f),
		newHostExpel(f), newAdoptDataDir(f)))
}

// HostView is a host with its replicas. In the HTTP API's answer for the whole cluster, replicas are listed by shard.
type HostView struct {
	admin.Host
	AtTarget bool
	Replicas []replicaView
	observed bool
}

// replicaView is a replica with its shard's id.
type replicaView struct {
	Shard uint64
	Leads bool
	admin.Replica
}

func viewHost(c *admin.Cluster, h *admin.Host) *HostView {
	v := &HostView{Host: *h, AtTarget: h.AtTarget(), observed: c.Observed}
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

// stateText describes the host's state in a word or two.
func (v *HostView) stateText() string {
	text := v.Current.State.String()
	if !v.AtTarget {
		text += " -> " + v.Target.State.String()
	}
	if v.Cordoned {
		text += ", cordoned"
	}
	if v.SlowFor > 0 {
		text += ", slow"
	}
	return text
}

// counts returns in how many shards the host votes, in how many it is a learner, and how many it leads.
func (v *HostView) counts() (votes, learns, leads int) {
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

// aliveText reports whether the governor hears the host, a dash if unknown.
func (v *HostView) aliveText() any {
	if !v.observed {
		return ""
	}
	return v.Alive
}

// slowText says in what the host is slow.
func (v *HostView) slowText() string {
	if v.SlowFor == 0 {
		return ""
	}
	return fmt.Sprintf("%s, since %v", v.Slow, sinceText(v.SlowFor))
}

// figure is a measured time, an empty text if unknown.
func figure(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Round(10 * time.Microsecond).String()
}

// sinceText is for how long something has been so.
func sinceText(d time.Duration) time.Duration { return d.Round(time.Second) }

// shortIncarnation returns the part of an incarnation that is enough to distinguish hosts.
func shortIncarnation(text string) string { return text[:min(8, len(text))] }

func newHostList(f *cli.Frame) *cobra.Command {
	var all bool
	c := clusterReader(f, &cobra.Command{
		Use:   "list",
		Short: "List hosts with their states",
		Long: `Lists the hosts by id: state, target, reason and age of the state, whether the governor
hears the host, and the number of shards in which the host votes, learns and leads. A
slow host leads no shards, and its reason has the slow figures. -o wide adds the speed of
each host, addresses, failure domains and incarnations.`,
		Example: `  signalbox host list
  signalbox host list -o wide

  # where no majority is left: what some host remembers
  signalbox host list --relaxed`,
	}, func(_ context.Context, _ *client.Client, cluster *admin.Cluster, _ []string) error {
		return listHosts(f, cluster, all)
	})
	c.Flags().BoolVar(&all, "all", false, "Include expelled hosts")
	return c
}

// clusterReader returns a command that reads the cluster, from any host's memory with --relaxed.
func clusterReader(f *cli.Frame, c *cobra.Command,
	read func(ctx context.Context, box *client.Client, cluster *admin.Cluster, args []string) error) *cobra.Command {
	relaxed := c.Flags().Bool("relaxed", false, "Let any host answer from its local replica, even without a quorum")
	c.RunE = f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
		var options []admin.DescribeOption
		if *relaxed {
			options = append(options, admin.Relaxed())
		}
		cluster, err := admin.New(box).Describe(ctx, options...)
		if err != nil {
			return err
		}
		return read(ctx, box, cluster, args)
	})
	return c
}

func listHosts(f *cli.Frame, c *admin.Cluster, all bool) error {
	rows := f.Rows("ID#", "NAME", "STATE", "REASON", "SINCE", "ALIVE", "VOTES#", "LEARNS#", "LEADS#", "VERSION",
		"+SYNC#", "+TIMER DELAY#", "+ROUND TRIP#", "+DOMAIN", "+WEIGHT#", "+INCARNATION", "+RAFT ADDRESS",
		"+CLIENT ADDRESS")
	for i := range c.Hosts {
		v := viewHost(c, &c.Hosts[i])
		if v.Current.State == admin.Expelled && !all {
			continue
		}
		votes, learns, leads := v.counts()
		rows.Add(v, v.ID, v.Name, v.stateText(), cmp.Or(v.Slow, v.Target.Text, v.Target.Reason),
			sinceText(v.Target.Since), v.aliveText(), votes, learns, leads, v.Version, figure(v.SyncTime),
			figure(v.TimerLag), figure(v.RoundTrip), v.Domain, v.Weight,
			shortIncarnation(v.Incarnation), v.RaftAddress, v.ClientAddress)
	}
	return rows.End()
}

// memberOf returns the host a user named. Among several hosts with the same name, it is the one that is not expelled,
// or else the last.
func memberOf(c *admin.Cluster, name string) (*admin.Host, error) {
	if h := cmp.Or(c.HostByName(name), c.Expelled(name)); h != nil {
		return h, nil
	}
	if id, err := strconv.ParseUint(name, 10, 64); err == nil {
		if h := c.Host(id); h != nil {
			return h, nil
		}
	}
	return nil, cli.Errorf(cli.ExitNotFound, "host %s does not exist; signalbox host list lists all "+
		"hosts", cli.Safe(name))
}

// findHost asks the cluster for the host a user named.
func findHost(ctx context.Context, on *admin.Admin, name string) (*admin.Host, error) {
	cluster, err := on.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return memberOf(cluster, name)
}

func newHostShow(f *cli.Frame) *cobra.Command {
	return clusterReader(f, &cobra.Command{
		Use:   "show HOST",
		Short: "Show a host with its replicas",
		Long: `Shows a host's states with reason and time, its addresses, and its replicas with their
progress. BEHIND is the age of the replica's last entry: how long ago the shard leader
was at the same position.`,
		Example: `  signalbox host show b`,
	}, func(_ context.Context, _ *client.Client, cluster *admin.Cluster, args []string) error {
		h, err := memberOf(cluster, args[0])
		if err != nil {
			return err
		}
		return showHost(f, viewHost(cluster, h))
	})
}

func showHost(f *cli.Frame, v *HostView) error {
	standing := func(s *admin.HostState) string {
		text := s.State.String() + ", " + s.Reason
		if s.Text != "" {
			text += ": " + s.Text
		}
		if s.Author != "" {
			text += ", by " + s.Author
		}
		return fmt.Sprintf("%s, since %v", text, sinceText(s.Since))
	}
	fields := cli.Fields("id", v.ID, "name", v.Name, "current", standing(&v.Current), "target", standing(&v.Target),
		"alive", v.aliveText(), "slow", v.slowText(), "log sync", figure(v.SyncTime), "timer delay", figure(v.TimerLag),
		"round trip", figure(v.RoundTrip), "stalls", v.Stalls, "cordoned", v.Cordoned,
		"failure domain", v.Domain, "weight", v.Weight,
		"version", v.Version,
		"feature level", v.Level, "incarnation", v.Incarnation, "starts", v.Starts, "raft address", v.RaftAddress,
		"client address", v.ClientAddress, "admin address", v.AdminAddress)
	rows := cli.Map(v.Replicas, func(p replicaView) []any {
		return []any{shardName(p.Shard), p.ID, strings.ToLower(p.Role.String()), p.Leads, behindText(&p.Replica)}
	})
	return f.Show(v, fields, cli.Section("Replicas", []string{"SHARD", "REPLICA#", "ROLE", "LEADS", "BEHIND"}, rows))
}

// behindText describes how far a replica lags, empty if unknown.
func behindText(p *admin.Replica) string {
	switch {
	case p.SnapshotPercent > 0:
		return fmt.Sprintf("snapshot %d %%", p.SnapshotPercent)
	case !p.Observed:
		return ""
	}
	return p.Behind.Truncate(time.Millisecond).String()
}

// shardName returns a shard's user-visible name.
func shardName(id uint64) string {
	if id == 0 {
		return "meta"
	}
	return strconv.FormatUint(id, 10)
}
