package status

import (
	"cmp"
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
	"github.com/signalbox/signalbox/cmd/signalbox/internal/health"
	gateway "github.com/signalbox/signalbox/gateway/http"
	"github.com/signalbox/signalbox/gateway/operation"
)

// newStatus returns the command that shows a cluster's hosts and shards.
func newStatus(f *cli.Frame) *cobra.Command {
	return f.Command(&cobra.Command{
		Use:   "status",
		Short: "Hosts, shards, leaders, sessions",
		Long: `Asks every host for its status, and shows hosts, shards and leaders. Any valid token is
enough.

FRESH means that the host confirmed recently that it still leads its shards; the column
is empty for a host that leads nothing. LAG is the number of log entries by which the
slowest replica of a shard is behind; -o wide shows every replica. The hosts' health
issues come last, with their remedies.

Exit codes: 69 a shard has no leader, or no host could be reached; 0 otherwise, even if
a host does not answer. signalbox help exit-codes lists the others; signalbox check
looks more closely.`,
		Example: `  signalbox status

  # every copy of every shard
  signalbox status -o wide

  # the names of hosts that do not answer
  signalbox status -o json | jq -r '.hosts[] | select(.error) | .address'`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			hosts, err := askHosts(ctx, box)
			if err != nil {
				return err
			}
			whole := askGovernor(ctx, box, hosts)
			s := newStatusReport(hosts, whole)
			s.addCluster(whole)
			if list, err := health.Read(ctx, box); err == nil {
				s.HealthIssues, s.Unasked = list.Items, list.Unreachable
			}
			return showStatus(f, s)
		}),
	})
}

// statusPatience is the fraction of the timeout (one part in statusPatience) reserved for showing the reports if a
// host does not answer.
const statusPatience = 4 // a quarter

// askHosts asks all hosts, and gives up on hosts that have not answered some time before the context ends.
func askHosts(ctx context.Context, box *client.Client) ([]client.HostStatus, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)*(statusPatience-1)/statusPatience)
		defer cancel()
	}
	hosts, err := box.Status(ctx)
	slices.SortFunc(hosts, func(a, b client.HostStatus) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), strings.Compare(a.Address, b.Address))
	})
	return hosts, err
}

// Status is a cluster's state, merged from its hosts' reports.
type Status struct {
	Hosts  []hostReport
	Shards []shardReport
	// Silent are endpoints without an answer that belong to no known host.
	Silent []silentEndpoint `name:"unreachable_endpoints"`
	// Meta is the meta shard, nil without a report.
	Meta *shardReport
	// FeatureLevel is the cluster's level, 0 if no host reports it. LevelHeldBy names the hosts that keep the level
	// from rising.
	FeatureLevel int
	LevelHeldBy  string `name:"feature_level_held_by"`
	// Generation counts cluster restores and recoveries; the highest report counts.
	Generation uint64
	// Tolerated is the number of further voters every shard may lose, -1 if a shard has too few voters, and nil if
	// unknown.
	Tolerated    *int                    `name:"failure_tolerance"`
	HealthIssues []admin.HealthIssue     `name:"health_issues"`
	whole        *admin.Cluster          // nil if the hosts have no records
	Unasked      []admin.UnreachableHost `name:"unreachable_hosts"` // hosts without a list of health issues
}

// silentEndpoint is a command line endpoint without an answer.
type silentEndpoint struct {
	Address string
	Err     error `name:"error"`
}

// hostReport is a host's report, as in HTTP API answers, with the ids of the shards the host leads.
type hostReport struct {
	gateway.HostStatus
	Leads []uint64
}

// shardReport is a shard as reported by all of its hosts. Lag is the number of entries the slowest host lacks.
type shardReport struct {
	client.ShardStatus
	LeaderName string
	Lag        uint64
	Redundancy *admin.Redundancy // nil if unknown
}

// newStatusReport merges host reports. The cluster's records, nil if unknown, show which host has a replica of which
// shard: a host without a replica keeps reporting the last leader it knew.
func newStatusReport(hosts []client.HostStatus, records *admin.Cluster) *Status {
	s, names := &Status{}, make(map[uint64]string)
	var whole shardReport
	for i := range hosts {
		h := &hosts[i]
		names[h.ID] = h.Name
		s.Generation = max(s.Generation, h.Generation)
		if h.FeatureLevel > s.FeatureLevel {
			s.FeatureLevel, s.LevelHeldBy = h.FeatureLevel, h.LevelHeldBy
		}
		for _, x := range h.Shards {
			if s.shard(x.ID) == nil {
				s.Shards = append(s.Shards, shardReport{ShardStatus: client.ShardStatus{ID: x.ID}})
			}
			if c := copyOn(records, &x, h.ID); c.there {
				s.shard(x.ID).addReport(c.judged(x, hosts), h.ID)
			}
		}
		if c := copyOn(records, &h.Meta, h.ID); c.there {
			whole.addReport(c.judged(h.Meta, hosts), h.ID)
		}
		if h.Meta.Term > 0 {
			s.Meta = &whole
		}
	}
	slices.SortFunc(s.Shards, func(a, b shardReport) int { return cmp.Compare(a.ID, b.ID) })
	whole.LeaderName = leaderName(names, whole.Leader)
	for i := range hosts {
		h := &hosts[i]
		if h.ID == 0 && h.Err != nil {
			s.Silent = append(s.Silent, silentEndpoint{h.Address, h.Err})
			continue
		}
		o := hostReport{HostStatus: gateway.NewHostStatus(h)}
		o.Shards = slices.DeleteFunc(slices.Clone(h.Shards), func(x client.ShardStatus) bool {
			return !copyOn(records, &x, h.ID).there
		})
		for j := range o.Shards {
			x := s.shard(o.Shards[j].ID)
			x.LeaderName, x.Lag = leaderName(names, x.Leader), max(x.Lag, s.lag(&o.Shards[j]))
			if x.Leader == h.ID {
				o.Leads = append(o.Leads, x.ID)
			}
		}
		s.Hosts = append(s.Hosts, o)
	}
	return s
}

// shard returns the report for a shard, nil if no host knows the shard.
func (s *Status) shard(id uint64) *shardReport {
	return cli.Find(s.Shards, func(x *shardReport) bool { return x.ID == id })
}

// lag returns how many entries of a shard a host has not applied. A host does not know about entries that have not
// arrived.
func (s *Status) lag(on *client.ShardStatus) uint64 {
	return max(on.CommitLag, s.shard(on.ID).AppliedIndex-on.AppliedIndex)
}

// leaderName names a leader, with an empty text for no leader.
func leaderName(names map[uint64]string, id uint64) string {
	if id == 0 {
		return ""
	}
	return cmp.Or(names[id], "host "+strconv.FormatUint(id, 10))
}

// addReport adds the report from a host with a replica of the shard. The leader with the highest term leads, and the
// leader's report on the content counts. Unknown values are zero in a report.
func (s *shardReport) addReport(said *client.ShardStatus, from uint64) {
	leader, term, applied := s.Leader, s.Term, max(s.AppliedIndex, said.AppliedIndex)
	switch {
	case said.Term > term:
		leader, term = said.Leader, said.Term
	case said.Term == term && leader == 0:
		leader = said.Leader
	}
	if said.Leader == from || s.Sessions == 0 && s.Semaphores == 0 {
		s.ShardStatus = *said
	}
	s.Leader, s.Term, s.AppliedIndex, s.CommitLag = leader, term, applied, 0
}

// leaderless returns the shards without a leader.
func (s *Status) leaderless() (ids []string) {
	for i := range s.Shards {
		if s.Shards[i].Leader == 0 {
			ids = append(ids, strconv.FormatUint(s.Shards[i].ID, 10))
		}
	}
	if s.Meta != nil && s.Meta.Leader == 0 {
		ids = append(ids, "meta")
	}
	return ids
}

// refusals returns the reasons from hosts that reject changes.
func (s *Status) refusals() (texts []string) {
	for i := range s.Hosts {
		if h := &s.Hosts[i]; h.Refusal != "" {
			texts = append(texts, h.Name+": "+h.Refusal)
		}
	}
	return texts
}

// showStatus prints a cluster.
func showStatus(f *cli.Frame, s *Status) error {
	answering := 0
	for i := range s.Hosts {
		if s.Hosts[i].Err == nil {
			answering++
		}
	}
	missing := s.leaderless()
	led := "each with a leader"
	if len(missing) > 0 {
		led = "no leader: " + strings.Join(missing, ", ")
	}
	pairs := []any{"hosts", fmt.Sprintf("%d of %d answer", answering, len(s.Hosts)),
		"shards", fmt.Sprintf("%d, %s", len(s.Shards), led)}
	if s.Meta != nil {
		pairs = append(pairs, "meta shard", "led by "+cmp.Or(s.Meta.LeaderName, "no host"))
	}
	if s.FeatureLevel > 0 {
		level := strconv.Itoa(s.FeatureLevel)
		if s.LevelHeldBy != "" {
			level += "; " + s.LevelHeldBy
		}
		pairs = append(pairs, "feature level", level)
	}
	if s.Generation > 0 {
		pairs = append(pairs, "generation", s.Generation)
	}
	if s.whole != nil {
		pairs = append(pairs, "failures tolerated", health.Tolerance(s.whole))
	}
	for _, text := range s.refusals() {
		pairs = append(pairs, "changes refused", text)
	}
	sections := []operation.Section{
		cli.Section("Hosts", []string{"ID#", "NAME", "ADDRESS", "VERSION", "UP", "FRESH", "LEADS", "CONNECTIONS#",
			"SESSIONS#"}, hostCells(s)),
		cli.Section("Shards", []string{"ID#", "LEADER", "TERM#", "APPLIED#", "LAG#", "SESSIONS#", "SEMAPHORES#",
			"WAITERS#", "ROLLOUTS#", "PROCESSES#"}, shardCells(s)),
	}
	if f.Wide() {
		sections = append(sections, cli.Section("Shards on hosts", []string{"HOST", "SHARD#", "LEADER#", "TERM#",
			"APPLIED#", "LAG#"}, copyCells(s)))
	}
	sections = append(sections, cli.Section("No answer", []string{"ADDRESS", "REASON"}, silentCells(s)),
		health.Section(s.HealthIssues))
	err := f.Show(s, cli.Fields(pairs...), sections...)
	if err == nil && len(missing) > 0 {
		err = cli.Errorf(cli.ExitUnavailable, "shard %s has no leader: changes are rejected until a majority of "+
			"its hosts can reach each other", strings.Join(missing, ", "))
	}
	return err
}

func hostCells(s *Status) (rows [][]any) {
	for i := range s.Hosts {
		h := &s.Hosts[i]
		if h.Err != nil {
			rows = append(rows, []any{
				operation.OrNothing(h.ID), s.nameAt(h.Address), h.Address, "no answer", "", "", "", "", "",
			})
			continue
		}
		leads := cli.Map(h.Leads, func(id uint64) string { return strconv.FormatUint(id, 10) })
		var fresh any = h.Fresh
		if len(leads) == 0 {
			fresh = "" // nothing to confirm
		}
		rows = append(rows, []any{operation.OrNothing(h.ID), h.Name, h.Address, h.Version,
			h.Uptime.Round(time.Second), fresh, strings.Join(leads, ","), h.Connections, h.Sessions})
	}
	return rows
}

// nameAt returns the recorded name of a host that has not answered, empty for an unknown address.
func (s *Status) nameAt(address string) string {
	if u := cli.Find(s.Unasked, func(u *admin.UnreachableHost) bool { return u.Address == address }); u != nil {
		return u.Host
	}
	return ""
}

func silentCells(s *Status) (rows [][]any) {
	for i := range s.Hosts {
		if h := &s.Hosts[i]; h.Err != nil {
			rows = append(rows, []any{h.Address, strings.TrimPrefix(operation.Plain(h.Err), "host "+h.Address+": ")})
		}
	}
	for _, e := range s.Silent {
		rows = append(rows, []any{e.Address, "no host has the address: " + e.Err.Error()})
	}
	return rows
}

func shardCells(s *Status) [][]any {
	return cli.Map(s.Shards, func(x shardReport) []any {
		return []any{x.ID, cmp.Or(x.LeaderName, "none"), x.Term, x.AppliedIndex, x.Lag, x.Sessions, x.Semaphores,
			x.Waiters, x.Rollouts, x.Processes}
	})
}

func copyCells(s *Status) (rows [][]any) {
	for i := range s.Hosts {
		for _, x := range s.Hosts[i].Shards {
			rows = append(rows, []any{s.Hosts[i].Name, x.ID, x.Leader, x.Term, x.AppliedIndex, s.lag(&x)})
		}
	}
	return rows
}
