package main

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
)

// newStatus returns the command that shows the hosts and shards of a cluster.
func newStatus(f *cli.Frame) *cobra.Command {
	return f.Command(&cobra.Command{
		Use:   "status",
		Short: "Hosts, shards, leaders, sessions",
		Long: `Asks every host of the cluster how it is, and shows the hosts, and the shards with
their leaders. It needs any token that is let in.

FRESH says that a host made sure lately that it still leads what it believes to
lead. LAG is by how many entries of its log a shard is behind on the host that is
most behind; -o wide shows every shard on every host. What is not as it should be
with the hosts stands last, with what to do about it.

Exit codes: 69 a shard has no leader, or no host could be asked; 0 otherwise, even if
a host does not answer. signalbox help exit-codes has the others; signalbox check
looks more closely.`,
		Example: `  signalbox status

  # every shard on every host
  signalbox status -o wide

  # the names of hosts that do not answer
  signalbox status -o json | jq -r '.hosts[] | select(.error) | .address'`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				hosts, err := askHosts(ctx, box)
				if err != nil {
					return err
				}
				return showStatus(f, hosts, askGovernor(ctx, box, hosts))
			})
		},
	})
}

// statusPatience is the part of the timeout that is kept for showing the reports, where a host does not answer.
const statusPatience = 4 // a quarter

// askHosts asks all hosts, and gives up on those that do not answer some time before the context ends.
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

// statusObject is a cluster as JSON.
type statusObject struct {
	Hosts  []hostObject  `json:"hosts"`
	Shards []shardObject `json:"shards"`
	// Silent are endpoints that do not answer, and are not known to be of a host.
	Silent []silentObject `json:"silent_endpoints"`
	// Meta is the shard of the nodes; nil where no host reports it.
	Meta *metaObject `json:"meta,omitempty"`
	// FeatureLevel is that of the cluster, 0 where no host reports it; LevelHeldBy names the hosts that keep it from
	// rising.
	FeatureLevel int    `json:"feature_level,omitempty"`
	LevelHeldBy  string `json:"level_held_by,omitempty"`
	// Generation is the highest that a host reports: how often the cluster was restored or recovered.
	Generation uint64 `json:"generation,omitempty"`
	// Tolerated is how many more voters every shard may lose, -1 where one has too few; nil where that is not known.
	Tolerated *int            `json:"failures_tolerated,omitempty"`
	Concerns  []concernObject `json:"concerns,omitempty"`
}

// metaObject is the meta shard as JSON.
type metaObject struct {
	Leader     uint64 `json:"leader"`
	LeaderName string `json:"leader_name"`
	Term       uint64 `json:"term"`
	Applied    uint64 `json:"applied_index"`
	// Redundancy is nil where it is not known.
	Redundancy *shardRedundancyObject `json:"redundancy,omitempty"`
}

// silentObject is an endpoint that was given and does not answer, as JSON.
type silentObject struct {
	Address string `json:"address"`
	Error   string `json:"error"`
}

// hostObject is a host as JSON.
type hostObject struct {
	ID          uint64              `json:"id,omitempty"`
	Address     string              `json:"address"`
	Error       string              `json:"error,omitempty"`
	Name        string              `json:"name,omitempty"`
	Version     string              `json:"version,omitempty"`
	UptimeMS    int64               `json:"uptime_ms"`
	Fresh       bool                `json:"fresh"`
	Refusal     string              `json:"refusal,omitempty"`
	Connections int                 `json:"connections"`
	Sessions    int                 `json:"sessions"`
	Leads       []uint64            `json:"leads"`
	Shards      []shardOnHostObject `json:"shards"`
	// Load is what the host did lately; nil where it does not say.
	Load *loadObject `json:"load,omitempty"`
}

// loadObject is what a host did while it was measured, as JSON. All but the disk is 0 where the span is.
type loadObject struct {
	SpanMS      int64   `json:"span_ms"`
	Requests    float64 `json:"requests_per_second"`
	Failed      float64 `json:"failed_per_second"`
	HalfMS      float64 `json:"p50_ms"`
	MostMS      float64 `json:"p99_ms"`
	CommitMS    float64 `json:"commit_p99_ms"`
	FreeOnDisk  uint64  `json:"disk_free_bytes"`
	TotalOnDisk uint64  `json:"disk_total_bytes"`
}

// shardOnHostObject is how a shard is on one host, as JSON.
type shardOnHostObject struct {
	ID      uint64 `json:"id"`
	Leader  uint64 `json:"leader"`
	Term    uint64 `json:"term"`
	Applied uint64 `json:"applied_index"`
	Lag     uint64 `json:"lag"`
}

// shardObject is a shard as JSON. Leader is the id of a host, 0 where no host knows one.
type shardObject struct {
	ID         uint64 `json:"id"`
	Leader     uint64 `json:"leader"`
	LeaderName string `json:"leader_name"`
	Term       uint64 `json:"term"`
	Applied    uint64 `json:"applied_index"`
	Lag        uint64 `json:"max_lag"`
	Sessions   uint64 `json:"sessions"`
	Semaphores uint64 `json:"semaphores"`
	Waiters    uint64 `json:"waiters"`
	Rollouts   uint64 `json:"rollouts"`
	Processes  uint64 `json:"processes"`
	// Redundancy is nil where it is not known.
	Redundancy *shardRedundancyObject `json:"redundancy,omitempty"`
}

// newStatusObject merges the reports of hosts.
func newStatusObject(hosts []client.HostStatus) statusObject {
	s := statusObject{Hosts: []hostObject{}, Shards: []shardObject{}, Silent: []silentObject{}}
	names := make(map[uint64]string)
	shards := make(map[uint64]*shardObject)
	for i := range hosts {
		names[hosts[i].ID] = hosts[i].Name
		s.Generation = max(s.Generation, hosts[i].Generation)
		if hosts[i].FeatureLevel > s.FeatureLevel {
			s.FeatureLevel, s.LevelHeldBy = hosts[i].FeatureLevel, hosts[i].LevelHeldBy
		}
		for _, x := range hosts[i].Shards {
			known := shards[x.ID]
			if known == nil {
				known = &shardObject{ID: x.ID}
				shards[x.ID] = known
			}
			known.addReport(&x, hosts[i].ID)
		}
	}
	for _, x := range shards {
		x.LeaderName = leaderName(names, x.Leader)
		s.Shards = append(s.Shards, *x)
	}
	var known shardObject
	for i := range hosts {
		known.addReport(&hosts[i].Meta, hosts[i].ID)
	}
	if known.Term > 0 {
		s.Meta = &metaObject{Leader: known.Leader, LeaderName: leaderName(names, known.Leader), Term: known.Term,
			Applied: known.Applied}
	}
	slices.SortFunc(s.Shards, func(a, b shardObject) int { return cmp.Compare(a.ID, b.ID) })
	for i := range hosts {
		if h := &hosts[i]; h.ID == 0 && h.Err != nil {
			s.Silent = append(s.Silent, silentObject{h.Address, h.Err.Error()})
			continue
		}
		s.Hosts = append(s.Hosts, newHostObject(&hosts[i], shards))
	}
	for i := range s.Hosts {
		for _, x := range s.Hosts[i].Shards {
			known := shards[x.ID]
			known.Lag = max(known.Lag, x.Lag)
		}
	}
	for i := range s.Shards {
		s.Shards[i].Lag = shards[s.Shards[i].ID].Lag
	}
	return s
}

// leaderName names a leader, with nothing where there is none.
func leaderName(names map[uint64]string, id uint64) string {
	if id == 0 {
		return ""
	}
	return cmp.Or(names[id], "host "+strconv.FormatUint(id, 10))
}

// addReport adds the report of a host on the shard. The leader of the highest term leads, and its report on the content
// counts. A host does not report what it does not know.
func (s *shardObject) addReport(said *client.ShardStatus, from uint64) {
	switch {
	case said.Term > s.Term:
		s.Term, s.Leader = said.Term, said.Leader
	case said.Term == s.Term && s.Leader == 0:
		s.Leader = said.Leader
	}
	s.Applied = max(s.Applied, said.AppliedIndex)
	if said.Leader == from || s.Sessions == 0 && s.Semaphores == 0 {
		s.Sessions, s.Semaphores, s.Waiters = said.Sessions, said.Semaphores, said.Waiters
		s.Rollouts, s.Processes = said.Rollouts, said.Processes
	}
}

func newHostObject(h *client.HostStatus, shards map[uint64]*shardObject) hostObject {
	o := hostObject{
		ID: h.ID, Address: h.Address, Name: h.Name, Version: h.Version, UptimeMS: cli.Millis(h.Uptime), Fresh: h.Fresh,
		Refusal: h.Refusal, Connections: h.Connections, Sessions: h.Sessions, Leads: []uint64{},
		Shards: []shardOnHostObject{},
	}
	if h.Err != nil {
		o.Error = h.Err.Error()
	}
	if l := h.Load; l != nil {
		requests, failed := l.PerSecond()
		o.Load = &loadObject{cli.Millis(l.Span), requests, failed, fineMillis(l.P50), fineMillis(l.P99),
			fineMillis(l.CommitP99), l.DiskFree, l.DiskTotal}
	}
	for _, x := range h.Shards {
		if known := shards[x.ID]; known.Leader == h.ID {
			o.Leads = append(o.Leads, x.ID)
		}
		// A host does not know of what it has not heard of.
		lag := max(x.CommitLag, shards[x.ID].Applied-x.AppliedIndex)
		o.Shards = append(o.Shards, shardOnHostObject{x.ID, x.Leader, x.Term, x.AppliedIndex, lag})
	}
	return o
}

// fineMillis is a time in milliseconds and parts of them.
func fineMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// leaderless are the shards without a leader.
func (s *statusObject) leaderless() (ids []string) {
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

// refusals says of each host that refuses changes why it does.
func (s *statusObject) refusals() (texts []string) {
	for i := range s.Hosts {
		if h := &s.Hosts[i]; h.Refusal != "" {
			texts = append(texts, h.Name+": "+h.Refusal)
		}
	}
	return texts
}

// showStatus prints a cluster.
func showStatus(f *cli.Frame, hosts []client.HostStatus, whole *admin.Cluster) error {
	s := newStatusObject(hosts)
	s.addCluster(whole)
	answering := 0
	for i := range s.Hosts {
		if s.Hosts[i].Error == "" {
			answering++
		}
	}
	missing := s.leaderless()
	led := "each with a leader"
	if len(missing) > 0 {
		led = "no leader: " + strings.Join(missing, ", ")
	}
	fields := []cli.Field{
		{Name: "hosts", Cell: fmt.Sprintf("%d of %d answer", answering, len(s.Hosts))},
		{Name: "shards", Cell: fmt.Sprintf("%d, %s", len(s.Shards), led)},
	}
	if s.Meta != nil {
		fields = append(fields, cli.Field{Name: "meta shard", Cell: "led by " + cmp.Or(s.Meta.LeaderName, "no host")})
	}
	if s.FeatureLevel > 0 {
		level := strconv.Itoa(s.FeatureLevel)
		if s.LevelHeldBy != "" {
			level += "; " + s.LevelHeldBy
		}
		fields = append(fields, cli.Field{Name: "feature level", Cell: level})
	}
	if s.Generation > 0 {
		fields = append(fields, cli.Field{Name: "generation", Cell: s.Generation})
	}
	if whole != nil {
		fields = append(fields, cli.Field{Name: "failures tolerated", Cell: toleranceText(whole)})
	}
	for _, text := range s.refusals() {
		fields = append(fields, cli.Field{Name: "changes refused", Cell: text})
	}
	err := f.Fields(&s, fields...)
	if err == nil {
		err = f.Section("Hosts", []string{"ID#", "NAME", "ADDRESS", "VERSION", "UP", "FRESH", "LEADS", "CONNECTIONS#",
			"SESSIONS#"}, hostCells(&s))
	}
	if err == nil {
		err = f.Section("Shards", []string{"ID#", "LEADER", "TERM#", "APPLIED#", "LAG#", "SESSIONS#", "SEMAPHORES#",
			"WAITERS#", "ROLLOUTS#", "PROCESSES#"}, shardCells(&s))
	}
	if err == nil && f.Wide() {
		err = f.Section("Shards on hosts", []string{"HOST", "SHARD#", "LEADER#", "TERM#", "APPLIED#", "LAG#"},
			copyCells(&s))
	}
	if err == nil {
		err = f.Section("No answer", []string{"ADDRESS", "REASON"}, silentCells(&s))
	}
	if err == nil {
		err = f.Section("What is not as it should be", concernTitles, concernCells(s.Concerns))
	}
	if err == nil && len(missing) > 0 {
		err = cli.Errorf(cli.ExitUnavailable, "no leader of shard %s: changes are refused there until a majority of "+
			"its hosts speak to each other", strings.Join(missing, ", "))
	}
	return err
}

func hostCells(s *statusObject) (rows [][]any) {
	for i := range s.Hosts {
		h := &s.Hosts[i]
		if h.Error != "" {
			rows = append(rows, []any{idCell(h.ID), "", h.Address, "no answer", "", "", "", "", ""})
			continue
		}
		var leads []string
		for _, x := range h.Leads {
			leads = append(leads, strconv.FormatUint(x, 10))
		}
		up := (time.Duration(h.UptimeMS) * time.Millisecond).Round(time.Second)
		rows = append(rows, []any{idCell(h.ID), h.Name, h.Address, h.Version, up, h.Fresh, strings.Join(leads, ","),
			h.Connections, h.Sessions})
	}
	return rows
}

// idCell is an id, empty for one that is not known.
func idCell(id uint64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatUint(id, 10)
}

func silentCells(s *statusObject) (rows [][]any) {
	for i := range s.Hosts {
		if h := &s.Hosts[i]; h.Error != "" {
			rows = append(rows, []any{h.Address, h.Error})
		}
	}
	for _, e := range s.Silent {
		rows = append(rows, []any{e.Address, "no host is known by this address: " + e.Error})
	}
	return rows
}

func shardCells(s *statusObject) (rows [][]any) {
	for i := range s.Shards {
		x := &s.Shards[i]
		rows = append(rows, []any{x.ID, cmp.Or(x.LeaderName, "none"), x.Term, x.Applied, x.Lag, x.Sessions,
			x.Semaphores, x.Waiters, x.Rollouts, x.Processes})
	}
	return rows
}

func copyCells(s *statusObject) (rows [][]any) {
	for i := range s.Hosts {
		for _, x := range s.Hosts[i].Shards {
			rows = append(rows, []any{s.Hosts[i].Name, x.ID, x.Leader, x.Term, x.Applied, x.Lag})
		}
	}
	return rows
}
