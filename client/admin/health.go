package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/health"
)

// HealthIssue is a trouble in a cluster. Package health has the kinds.
type HealthIssue = health.Issue

// Severity is how bad a health issue is.
type Severity = health.Severity

// The severities.
const (
	Info     = health.Info
	Warning  = health.Warning
	Critical = health.Critical
)

// HealthIssues are the troubles in a cluster, as all hosts together see the cluster.
type HealthIssues struct {
	Items []HealthIssue // the worst first
	// Unreachable lists hosts that did not answer. Items lacks issues that only these hosts see.
	Unreachable []UnreachableHost `name:"unreachable_hosts"`
	// Asked is how many hosts were asked.
	Asked int `name:"hosts_asked"`
}

// UnreachableHost is a host that did not return its health issues.
type UnreachableHost struct {
	Host    string `about:"Host name, if known"`
	Address string
	Reason  string
}

// clocksApart is the tolerated clock difference between hosts.
const clocksApart = 2 * time.Second

// HealthIssues asks every host for its health issues and merges the answers. The call fails only if no host answers.
func (a *Admin) HealthIssues(ctx context.Context) (*HealthIssues, error) {
	var list *HealthIssues
	err := a.core.Do(ctx, string(OpHealth), "", func(ctx context.Context) (err error) {
		list, err = a.healthIssues(ctx)
		return err
	})
	return list, failed(OpHealth, "", err)
}

// hostAnswer is the answer from one host.
type hostAnswer struct {
	id         uint64
	address    string
	name       string
	items      []HealthIssue
	governs    bool
	generation uint64
	ahead      time.Duration // host clock minus local clock
	err        error
}

func (a *Admin) healthIssues(ctx context.Context) (*HealthIssues, error) {
	of := a.core.Cluster()
	if err := of.Refresh(ctx); err != nil {
		return nil, err
	}
	all := cluster.AskEach(of, func(h *cluster.Host) hostAnswer { return askHealth(ctx, h) })
	heard := func(t hostAnswer) bool { return t.err == nil }
	if len(all) > 0 && !slices.ContainsFunc(all, heard) {
		return nil, all[0].err
	}
	c := &HealthIssues{Asked: len(all)}
	governed := slices.ContainsFunc(all, func(t hostAnswer) bool { return t.governs })
	if !governed || slices.ContainsFunc(all, func(t hostAnswer) bool { return t.err != nil }) {
		// The records are an extra: a list without the records is better than no list.
		if records, err := a.Describe(ctx, Relaxed()); err == nil {
			all = slices.DeleteFunc(all, func(t hostAnswer) bool { return t.err != nil && !records.belongs(t.id) })
			c.Asked = len(all)
			nameHosts(records, all)
			if !governed {
				c.addRecords(records, all)
			}
		}
	}
	c.merge(all)
	return c, nil
}

func askHealth(ctx context.Context, h *cluster.Host) (t hostAnswer) {
	t.id, t.address = h.ID(), h.Address()
	to, err := h.Conn(ctx, 0)
	if err != nil {
		t.err = err
		return t
	}
	t.id, t.generation = to.Welcome().HostID, to.Welcome().Generation
	began := time.Now()
	t.err = to.RoundTrip(ctx, &protocol.Health{}, func(a *protocol.Answer) {
		m := &a.Health
		t.name, t.governs = string(m.HostName), m.Governs
		now := time.Now()
		t.ahead = time.UnixMilli(int64(m.NowMillis)).Sub(began.Add(now.Sub(began) / 2))
		for x := range m.Items.All() {
			t.items = append(t.items, x.Issue)
		}
	})
	return t
}

// merge adds the health issues from all hosts. If several hosts report an issue, merge keeps the report with the
// earliest start. Differences between the hosts' clocks and generations appear only in the merged list.
func (h *HealthIssues) merge(all []hostAnswer) {
	var newest uint64
	var early, late *hostAnswer
	for i := range all {
		t := &all[i]
		if t.err != nil {
			h.Unreachable = append(h.Unreachable,
				UnreachableHost{Host: t.name, Address: t.address, Reason: reasonOf(t.address, t.err)})
			continue
		}
		h.Items = append(h.Items, t.items...)
		newest = max(newest, t.generation)
		if early == nil || t.ahead < early.ahead {
			early = t
		}
		if late == nil || t.ahead > late.ahead {
			late = t
		}
	}
	if early != late && late.ahead-early.ahead > clocksApart {
		h.Items = append(h.Items, health.New(health.ClockSkew, health.About{}, fmt.Sprintf(
			"the largest difference is %[3]v, between %[1]s and %[2]s", early.name, late.name,
			(late.ahead-early.ahead).Round(100*time.Millisecond))))
	}
	for _, t := range all {
		if t.err == nil && t.generation < newest {
			h.Items = append(h.Items, health.New(health.StaleGeneration, health.About{Host: t.name}, fmt.Sprintf(
				"the host has generation %d, and the cluster has generation %d", t.generation, newest)))
		}
	}
	slices.SortStableFunc(h.Items, func(a, b HealthIssue) int {
		return cmp.Or(health.Compare(a, b), a.Since.Compare(b.Since))
	})
	h.Items = slices.CompactFunc(h.Items, func(a, b HealthIssue) bool { return a.Key() == b.Key() })
	slices.SortFunc(h.Unreachable, func(a, b UnreachableHost) int { return strings.Compare(a.Address, b.Address) })
}

// reasonOf says why a host has not answered. The text stands beside the address, so the address is left out.
func reasonOf(address string, err error) string {
	text := strings.TrimPrefix(err.Error(), "host "+address+": ")
	if dial, ok := errors.AsType[*net.OpError](err); ok {
		cause := dial.Err
		if call, ok := errors.AsType[*os.SyscallError](cause); ok {
			cause = call.Err
		}
		text = strings.Replace(text, dial.Error(), cause.Error(), 1)
	}
	return text
}

// belongs reports whether a host may belong to the cluster. A client keeps asking an expelled host for the client's
// whole lifetime, but must ignore the answers.
func (c *Cluster) belongs(id uint64) bool {
	h := c.Host(id)
	return id == 0 || h != nil && h.Current.State != Expelled
}

// nameHosts adds the recorded names to hosts that did not answer.
func nameHosts(records *Cluster, all []hostAnswer) {
	for i := range all {
		if h := records.Host(all[i].id); h != nil && all[i].name == "" {
			all[i].name = h.Name
		}
	}
}

// addRecords adds shard health issues while no host governs. addRecords compares the recorded voters with the hosts
// that answer this client: a shard has lost its quorum if at most half its voters answer. If every shard has a quorum,
// addRecords reports that the meta shard has no leader, because the leader would govern.
func (issues *HealthIssues) addRecords(records *Cluster, all []hostAnswer) {
	answers := make(map[uint64]bool)
	for _, t := range all {
		answers[t.id] = t.err == nil
	}
	type loss struct{ text, away string }
	var losses []loss
	shards := make(map[loss][]string)
	for i := range records.Shards {
		s := &records.Shards[i]
		var heard, away []string
		for _, r := range s.Replicas {
			h := records.Host(r.Host)
			switch {
			case r.Role != Voter || h == nil:
			case answers[r.Host]:
				heard = append(heard, h.Name)
			default:
				away = append(away, h.Name)
			}
		}
		voters := len(heard) + len(away)
		if voters == 0 || 2*len(heard) > voters {
			continue
		}
		l := loss{fmt.Sprintf("%d of %d voters answer: %s; unreachable: %s", len(heard), voters, orNone(heard),
			orNone(away)), strings.Join(away, ", ")}
		if shards[l] == nil {
			losses = append(losses, l)
		}
		shards[l] = append(shards[l], strconv.FormatUint(s.ID, 10))
	}
	for _, l := range losses {
		x := health.New(health.NoQuorum, health.About{Shards: shards[l]}, l.text)
		x.WaitsFor = l.away
		issues.Items = append(issues.Items, x)
	}
	if len(losses) == 0 {
		issues.Items = append(issues.Items, health.New(health.NoLeader, health.About{Shards: []string{"0"}},
			"no host governs the cluster: the meta shard has no leader, or its leader has no reports from other "+
				"hosts yet"))
	}
}

// orNone lists names.
func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
