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

// Concern is a trouble in a cluster. The package concern has the kinds.
type Concern = health.Issue

// Severity is how bad a concern is.
type Severity = health.Severity

// The severities.
const (
	Note    = health.Note
	Warning = health.Warning
	Failure = health.Failure
)

// Concerns are the troubles in a cluster, as all hosts together see the cluster.
type Concerns struct {
	Items []Concern // the worst first
	// Unanswered are the hosts without an answer. Concerns that only such a host sees are missing from Items.
	Unanswered []Unanswered `name:"unreachable_hosts"`
	// Asked is how many hosts were asked.
	Asked int `name:"hosts_asked"`
}

// Unanswered is a host that has not answered with its concerns.
type Unanswered struct {
	Host    string `about:"its name, where that is known"`
	Address string
	Reason  string
}

// clocksApart is by how much the clocks of hosts may differ.
const clocksApart = 2 * time.Second

// Concerns asks every host for its concerns, and merges the answers. The call fails only if no host answers.
func (a *Admin) Concerns(ctx context.Context) (*Concerns, error) {
	var list *Concerns
	err := a.core.Do(ctx, string(OpConcerns), "", func(ctx context.Context) (err error) {
		list, err = a.concerns(ctx)
		return err
	})
	return list, failed(OpConcerns, "", err)
}

// hostAnswer is the answer of one host.
type hostAnswer struct {
	id         uint64
	address    string
	name       string
	items      []Concern
	governs    bool
	generation uint64
	ahead      time.Duration // the host's clock, of this machine's
	err        error
}

func (a *Admin) concerns(ctx context.Context) (*Concerns, error) {
	of := a.core.Cluster()
	if err := of.Refresh(ctx); err != nil {
		return nil, err
	}
	all := cluster.AskEach(of, func(h *cluster.Host) hostAnswer { return askConcerns(ctx, h) })
	heard := func(t hostAnswer) bool { return t.err == nil }
	if len(all) > 0 && !slices.ContainsFunc(all, heard) {
		return nil, all[0].err
	}
	c := &Concerns{Asked: len(all)}
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

func askConcerns(ctx context.Context, h *cluster.Host) (t hostAnswer) {
	t.id, t.address = h.ID(), h.Address()
	to, err := h.Conn(ctx, 0)
	if err != nil {
		t.err = err
		return t
	}
	t.id, t.generation = to.Welcome().HostID, to.Welcome().Generation
	began := time.Now()
	t.err = to.RoundTrip(ctx, &protocol.Concerns{}, func(a *protocol.Answer) {
		m := &a.Concerns
		t.name, t.governs = string(m.HostName), m.Governs
		now := time.Now()
		t.ahead = time.UnixMilli(int64(m.NowMillis)).Sub(began.Add(now.Sub(began) / 2))
		for x := range m.Items.All() {
			t.items = append(t.items, x.Issue)
		}
	})
	return t
}

// merge adds the concerns of all hosts. If several hosts report a trouble, merge keeps the report with the earliest
// begin. Clocks and generations that differ between the hosts are concerns of the merged list only.
func (c *Concerns) merge(all []hostAnswer) {
	var newest uint64
	var early, late *hostAnswer
	for i := range all {
		t := &all[i]
		if t.err != nil {
			c.Unanswered = append(c.Unanswered,
				Unanswered{Host: t.name, Address: t.address, Reason: reasonOf(t.address, t.err)})
			continue
		}
		c.Items = append(c.Items, t.items...)
		newest = max(newest, t.generation)
		if early == nil || t.ahead < early.ahead {
			early = t
		}
		if late == nil || t.ahead > late.ahead {
			late = t
		}
	}
	if early != late && late.ahead-early.ahead > clocksApart {
		c.Items = append(c.Items, health.New(health.Clocks, health.About{}, fmt.Sprintf(
			"those of %s and %s are the furthest apart, by %v", early.name, late.name,
			(late.ahead-early.ahead).Round(100*time.Millisecond))))
	}
	for _, t := range all {
		if t.err == nil && t.generation < newest {
			c.Items = append(c.Items, health.New(health.OldGeneration, health.About{Host: t.name}, fmt.Sprintf(
				"it is of generation %d, and the cluster of %d", t.generation, newest)))
		}
	}
	slices.SortStableFunc(c.Items, func(a, b Concern) int {
		return cmp.Or(health.Compare(a, b), a.Since.Compare(b.Since))
	})
	c.Items = slices.CompactFunc(c.Items, func(a, b Concern) bool { return a.Key() == b.Key() })
	slices.SortFunc(c.Unanswered, func(a, b Unanswered) int { return strings.Compare(a.Address, b.Address) })
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

// belongs reports whether a host may belong to the cluster. A client asks a host that was expelled as long as the
// client lasts, and the host has nothing to say of the cluster.
func (c *Cluster) belongs(id uint64) bool {
	h := c.Host(id)
	return id == 0 || h != nil && h.Current.State != Expelled
}

// nameHosts gives each host without an answer its name on record.
func nameHosts(records *Cluster, all []hostAnswer) {
	for i := range all {
		if h := records.Host(all[i].id); h != nil && all[i].name == "" {
			all[i].name = h.Name
		}
	}
}

// addRecords adds concerns about shards while no host governs, from the voters on record and the hosts that answer this
// client. A shard has lost its majority if at most half of its voters answer. If no shard has, addRecords reports the
// meta shard as without a leader, because its leader would govern.
func (c *Concerns) addRecords(records *Cluster, all []hostAnswer) {
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
		l := loss{fmt.Sprintf("%d of %d voters answer: %s; %s do not", len(heard), voters, orNone(heard),
			orNone(away)), strings.Join(away, ", ")}
		if shards[l] == nil {
			losses = append(losses, l)
		}
		shards[l] = append(shards[l], strconv.FormatUint(s.ID, 10))
	}
	for _, l := range losses {
		x := health.New(health.NoMajority, health.About{Shards: shards[l]}, l.text)
		x.WaitsFor = l.away
		c.Items = append(c.Items, x)
	}
	if len(losses) == 0 {
		c.Items = append(c.Items, health.New(health.NoLeader, health.About{Shards: []string{"0"}},
			"no host governs the cluster: the meta shard has no leader, or that has not heard from the others yet"))
	}
}

// orNone lists names.
func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
