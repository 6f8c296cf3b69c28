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
	}, newHostList(f), newHostShow(f), newHostToken(f), newHostDrain(f), newHostUndrain(f), newHostCordon(f),
		newHostUncordon(f), newHostExpel(f), newHostReplace(f), newHostAlter(f)))
}

// clusterHostObject is a host as JSON.
type clusterHostObject struct {
	ID          uint64         `json:"id"`
	Name        string         `json:"name"`
	Incarnation string         `json:"incarnation"`
	Starts      uint64         `json:"starts"`
	Raft        string         `json:"raft_address"`
	Client      string         `json:"client_address"`
	Admin       string         `json:"admin_address,omitempty"`
	Domain      string         `json:"domain,omitempty"`
	Version     string         `json:"version"`
	Level       int            `json:"level"`
	Current     standingObject `json:"current"`
	Target      standingObject `json:"target"`
	AtTarget    bool           `json:"at_target"`
	Cordoned    bool           `json:"cordoned"`
	Replaces    uint64         `json:"replaces,omitempty"`
	// Alive is missing where nothing is observed.
	Alive  *bool                  `json:"alive,omitempty"`
	Shards []clusterReplicaObject `json:"shards"`
}

// standingObject is a state of a host as JSON.
type standingObject struct {
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Text    string `json:"text,omitempty"`
	By      string `json:"by,omitempty"`
	SinceMS int64  `json:"since_ms"`
}

// clusterReplicaObject is a replica as JSON.
type clusterReplicaObject struct {
	Shard    uint64 `json:"shard"`
	ID       uint64 `json:"id"`
	Host     uint64 `json:"host"`
	Role     string `json:"role"`
	Leads    bool   `json:"leads"`
	BehindMS *int64 `json:"behind_ms,omitempty"`
	Percent  int    `json:"snapshot_percent,omitempty"`
}

func newStandingObject(s *admin.Standing) standingObject {
	return standingObject{s.State.String(), s.Reason, s.Text, s.By, cli.Millis(s.Since)}
}

func newClusterHostObject(c *admin.Cluster, h *admin.Host) clusterHostObject {
	o := clusterHostObject{
		ID: h.ID, Name: h.Name, Incarnation: h.Incarnation, Starts: h.Starts, Raft: h.RaftAddress,
		Client: h.ClientAddress, Admin: h.AdminAddress, Domain: h.Domain, Version: h.Version, Level: h.Level,
		Current: newStandingObject(&h.Current), Target: newStandingObject(&h.Target), AtTarget: h.AtTarget(),
		Cordoned: h.Cordoned, Replaces: h.Replaces, Shards: []clusterReplicaObject{},
	}
	if c.Observed {
		o.Alive = &h.Alive
	}
	for i := range c.Shards {
		s := &c.Shards[i]
		for _, p := range s.Replicas {
			if p.Host == h.ID {
				o.Shards = append(o.Shards, newClusterReplicaObject(s, &p))
			}
		}
	}
	return o
}

func newClusterReplicaObject(s *admin.Shard, p *admin.Replica) clusterReplicaObject {
	o := clusterReplicaObject{Shard: s.ID, ID: p.ID, Host: p.Host, Role: p.Role.String(), Percent: p.SnapshotPercent,
		Leads: s.Leader == p.Host && p.Role == admin.Voter}
	if p.Observed {
		behind := cli.Millis(p.Behind)
		o.BehindMS = &behind
	}
	return o
}

// stateText says in a word or two how a host is.
func (o *clusterHostObject) stateText() string {
	text := o.Current.State
	if !o.AtTarget {
		text += " -> " + o.Target.State
	}
	if o.Cordoned {
		text += ", cordoned"
	}
	return text
}

// counts returns how many shards the host votes in, learns, and leads.
func (o *clusterHostObject) counts() (votes, learns, leads int) {
	for _, p := range o.Shards {
		switch p.Role {
		case admin.Voter.String():
			votes++
		case admin.Learner.String():
			learns++
		}
		if p.Leads {
			leads++
		}
	}
	return votes, learns, leads
}

// aliveText says whether a host is heard, a dash where that is not known.
func (o *clusterHostObject) aliveText() any {
	if o.Alive == nil {
		return ""
	}
	return *o.Alive
}

// sinceText is for how long something has been so.
func sinceText(ms int64) time.Duration {
	return (time.Duration(ms) * time.Millisecond).Round(time.Second)
}

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
		o := newClusterHostObject(c, &c.Hosts[i])
		if o.Current.State == admin.Expelled.String() && !all {
			continue
		}
		votes, learns, leads := o.counts()
		if err := rows.Add(o, o.ID, o.Name, o.stateText(), cmp.Or(o.Target.Text, o.Target.Reason),
			sinceText(o.Target.SinceMS), o.aliveText(), votes, learns, leads, o.Version, o.Domain,
			shortIncarnation(o.Incarnation), o.Raft, o.Client); err != nil {
			return err
		}
	}
	return rows.End()
}

// memberOf returns the host that a user names.
func memberOf(c *admin.Cluster, name string) (*admin.Host, error) {
	if h := c.Named(name); h != nil {
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
				return showHost(f, newClusterHostObject(cluster, h))
			})
		},
	}
	addRelaxed(c, &relaxed)
	return c
}

func showHost(f *cli.Frame, o clusterHostObject) error {
	standing := func(s *standingObject) string {
		text := s.State + ", " + s.Reason
		if s.Text != "" {
			text += ": " + s.Text
		}
		if s.By != "" {
			text += ", by " + s.By
		}
		return fmt.Sprintf("%s, since %v", text, sinceText(s.SinceMS))
	}
	err := f.Fields(o, cli.Field{Name: "id", Cell: o.ID}, cli.Field{Name: "name", Cell: o.Name},
		cli.Field{Name: "current", Cell: standing(&o.Current)}, cli.Field{Name: "target", Cell: standing(&o.Target)},
		cli.Field{Name: "alive", Cell: o.aliveText()}, cli.Field{Name: "cordoned", Cell: o.Cordoned},
		cli.Field{Name: "failure domain", Cell: o.Domain}, cli.Field{Name: "version", Cell: o.Version},
		cli.Field{Name: "feature level", Cell: o.Level}, cli.Field{Name: "incarnation", Cell: o.Incarnation},
		cli.Field{Name: "starts", Cell: o.Starts}, cli.Field{Name: "raft address", Cell: o.Raft},
		cli.Field{Name: "client address", Cell: o.Client}, cli.Field{Name: "admin address", Cell: o.Admin})
	if err != nil {
		return err
	}
	var rows [][]any
	for _, p := range o.Shards {
		rows = append(rows, []any{shardName(p.Shard), p.ID, strings.ToLower(p.Role), p.Leads, behindText(&p)})
	}
	return f.Section("Replicas", []string{"SHARD", "REPLICA#", "ROLE", "LEADS", "BEHIND"}, rows)
}

// behindText says how far a replica is behind, nothing where that is not known.
func behindText(p *clusterReplicaObject) string {
	switch {
	case p.Percent > 0:
		return fmt.Sprintf("snapshot %d %%", p.Percent)
	case p.BehindMS == nil:
		return ""
	}
	return (time.Duration(*p.BehindMS) * time.Millisecond).String()
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
