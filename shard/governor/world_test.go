package governor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// The tests' world: machines with data directories, engines with memberships, and time. The committed state is the
// records and the plan; commands and membership changes reach them with a delay.

// machine is the real state of a host, whatever is recorded about it.
type machine struct {
	id          shard.HostID // 0 until it has joined
	name        string
	incarnation hosts.Incarnation
	domain      hosts.Domain
	replaces    string
	up          bool
	wiped       bool // its directory is permanently lost
	boot        uint64
	heard       uint64 // when Raft traffic or an answer to a call came from it last, 0 for never
	fresh       uint64 // since when its barriers succeed, 0 where they do not
	stopping    uint64 // until when it waits to be offline, 0 where it does not stop
	sluggish    bool   // it is many times slower than it should be
}

// start is the machine's latest start.
func (m *machine) start() hosts.Start { return hosts.Start{Number: m.boot, Draw: 7 * m.boot} }

// engine is a shard's state in Raft.
type engine struct {
	change  uint64
	members map[uint64]*replica
	leader  shard.HostID
	led     uint64 // start of its leadership
	added   int    // how many replicas were added, ever
	group   uint64
}

type replica struct {
	host   shard.HostID
	role   hosts.Role
	behind int // lag in rounds of traffic
}

func (e *engine) voters() map[shard.HostID]bool {
	list := map[shard.HostID]bool{}
	for _, m := range e.members {
		if m.role == hosts.RoleVoter {
			list[m.host] = true
		}
	}
	return list
}

// world is the complete world.
type world struct {
	*rand.Rand
	records  *hosts.Records
	plan     *plan.Plan[Action]
	now      uint64
	term     uint64
	machines []*machine
	engines  map[hosts.ShardID]*engine
	tally    map[string]int
	noCAS    bool // planted bug: the engine accepts changes for other memberships
	slow     map[shard.HostID]bool
	paced    bool // hosts measure their speed, and machines become sluggish
	steady   bool // machines become neither slower nor faster any more
	figure   int  // the figure in which sluggish machines are slow
	prompt   bool // added shards begin at once
}

var domains = []string{"dc=a", "dc=b", "dc=c"}

func newWorld(seed uint64) *world {
	w := emptyWorld(seed, 1, 2, 3)
	spread := w.IntN(2) == 0
	w.bootstrap([]int{1, 2, 3, 3, 5}[w.IntN(5)], spread)
	return w
}

func emptyWorld(seed uint64, data ...hosts.ShardID) *world {
	return &world{Rand: rand.New(rand.NewPCG(seed, 11)), records: hosts.New("c", data), plan: plan.New(Config()),
		now: 1000, term: 1, engines: map[hosts.ShardID]*engine{}, tally: map[string]int{},
		slow: map[shard.HostID]bool{}}
}

// bootstrap lets so many machines begin the cluster.
func (w *world) bootstrap(count int, spread bool) {
	var initialMembers []hosts.InitialMember
	for i := range count {
		m := w.machine(spread)
		m.id, m.up = shard.HostID(i+1), true
		initialMembers = append(initialMembers, hosts.InitialMember{ID: m.id, Name: m.name, Incarnation: m.incarnation,
			Addresses: m.addresses(), Level: level.Newest})
	}
	w.records.Bootstrap(w.at(), initialMembers)
	for _, m := range w.machines {
		w.records.Alter(w.at(), m.name, m.domain)
	}
	for _, s := range w.records.Shards() {
		e := &engine{members: map[uint64]*replica{}, leader: initialMembers[0].ID}
		for _, f := range initialMembers {
			e.members[uint64(f.ID)] = &replica{host: f.ID, role: hosts.RoleVoter}
		}
		w.engines[s.ID] = e
	}
}

// machine creates a stopped machine that has not joined.
func (w *world) machine(spread bool) *machine {
	n := len(w.machines)
	m := &machine{name: string(rune('a' + n%26)), incarnation: hosts.Incarnation{byte(n + 1), byte(n >> 8), 1}}
	if m.domain = (hosts.Domain{{Key: "dc", Value: "a"}}); spread || n > 2 {
		m.domain, _ = host.ParseDomain(domains[w.IntN(len(domains))])
	}
	if n >= 26 {
		m.name += fmt.Sprint(n)
	}
	w.machines = append(w.machines, m)
	return m
}

func (m *machine) addresses() hosts.Addresses {
	return hosts.Addresses{Raft: fmt.Sprintf("%s:%x", m.name, m.incarnation[:2]), Client: fmt.Sprintf("%s:%x-c", m.name,
		m.incarnation[:2])}
}

func (w *world) at() hosts.At { return hosts.At{Now: w.now, Term: w.term, Level: level.Newest} }

func (w *world) of(id shard.HostID) *machine {
	for _, m := range w.machines {
		if m.id == id && id != 0 {
			return m
		}
	}
	return nil
}

func (w *world) up(id shard.HostID) bool {
	m := w.of(id)
	return m != nil && m.up
}

// shards are the ids in order.
func (w *world) shards() []hosts.ShardID { return slices.Sorted(maps.Keys(w.engines)) }

// pass advances time: Raft elects, replicas catch up, hosts are heard, and hosts report.
func (w *world) pass(millis uint64) {
	w.now += millis
	w.follow()
	for _, id := range w.shards() {
		w.raft(w.engines[id], id)
	}
	for _, m := range w.machines {
		w.breathe(m)
	}
	w.strain()
}

// follow makes machines begin added shards, and delete retired ones.
func (w *world) follow() {
	for _, s := range w.records.Shards() {
		p, e := s.InitialReplica(), w.engines[s.ID]
		if p != nil && (e == nil || e.group < s.Group) && w.up(p.Host) && (w.prompt || w.IntN(3) == 0) {
			w.engines[s.ID] = &engine{group: s.Group, change: s.Group<<20 + 1, leader: p.Host, led: w.now,
				members: map[uint64]*replica{p.ID: {host: p.Host, role: hosts.RoleVoter}}}
			w.tally["shard begins"]++
		}
	}
	maps.DeleteFunc(w.engines, func(id hosts.ShardID, _ *engine) bool {
		s := w.records.Shard(id)
		return s == nil || s.Phase == hosts.ShardRetired
	})
}

// strain makes machines sluggish, one or all of them, and lets them recover.
func (w *world) strain() {
	if w.paced && !w.steady {
		switch n := w.IntN(60); {
		case n < 6:
			m := w.machines[w.IntN(len(w.machines))]
			m.sluggish = !m.sluggish
		case n == 6:
			for _, m := range w.machines {
				m.sluggish = true
			}
		case n < 9:
			for _, m := range w.machines {
				m.sluggish = false
			}
		}
	}
}

// speed is what a machine measures of itself.
func (m *machine) speed(figure int) Speed {
	s := Speed{Sync: 200, Delay: 300, Round: 400, Stalls: 1}
	if m.sluggish {
		switch figure {
		case 0:
			s.Sync = 50_000
		case 1:
			s.Delay = 50_000
		case 2:
			s.Round = 50_000
		default:
			s.Stalls = 12
		}
	}
	return s
}

// raft is a round of one shard.
func (w *world) raft(e *engine, id hosts.ShardID) {
	voters := e.voters()
	live := []shard.HostID{}
	for _, h := range slices.Sorted(maps.Keys(voters)) {
		if w.up(h) {
			live = append(live, h)
		}
	}
	if len(live) < len(voters)/2+1 {
		e.leader = 0
		return
	}
	if !slices.Contains(live, e.leader) {
		e.leader, e.led = live[w.IntN(len(live))], w.now
		if id == hosts.Meta {
			w.term++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.members)) {
		m := e.members[key]
		if w.up(m.host) {
			if m.behind > 0 && !w.slow[m.host] {
				m.behind--
			}
		} else if m.role == hosts.RoleLearner {
			m.behind = min(m.behind+1, 5)
		}
	}
}

// breathe is a machine's own activity: barriers and state reports.
func (w *world) breathe(m *machine) {
	h := w.records.Host(m.id)
	if m.up && m.id != 0 && w.engines[hosts.Meta].leader != 0 {
		m.heard = w.now
	}
	p := w.metaReplica(m.id)
	if w.engines[hosts.Meta].leader == 0 || !m.up || p == nil || p.behind > 0 {
		m.fresh = 0
	} else if m.fresh == 0 {
		m.fresh = w.now
	}
	switch {
	case !m.up || w.engines[hosts.Meta].leader == 0:
	case m.id == 0:
		w.join(m)
	case h == nil || !h.Living():
		m.up = false // it learns of its expulsion
	case m.stopping != 0:
		if h.Target.Reason != hosts.ReasonShutdown {
			w.records.Shutdown(w.at(), m.id, m.incarnation, m.start())
		} else if h.Reached() || w.now > m.stopping {
			m.up, m.stopping = false, 0
		}
	case h.Start.Number < m.boot:
		w.records.Boot(w.at(), hosts.Boot{Host: m.id, Incarnation: m.incarnation, Start: m.start(),
			Addresses: h.Addresses, Level: level.Newest})
	case !h.Wanted() && h.Target.Reason.Failed():
		w.records.Return(w.at(), m.id, m.incarnation, h.Target.Epoch)
	}
}

func (w *world) metaReplica(id shard.HostID) *replica {
	e := w.engines[hosts.Meta]
	for _, key := range slices.Sorted(maps.Keys(e.members)) {
		if m := e.members[key]; m.host == id && id != 0 {
			return m
		}
	}
	return nil
}

func (w *world) join(m *machine) {
	j := hosts.Join{Cluster: "c", Name: m.name, Incarnation: m.incarnation, Addresses: m.addresses(), Domain: m.domain,
		Level: level.Newest, Trusted: true, Replace: m.replaces, Grace: 1000}
	if old := w.records.Named(m.replaces); old != nil {
		j.Heard = w.up(old.ID)
	} else if m.replaces != "" {
		j.Replace = ""
	}
	a := w.records.Join(w.at(), j)
	w.tally["join "+a.Status.String()]++
	if m.id = a.Host; m.id == 0 {
		m.up = false // restarted by an operator who has read the reason
	}
}

// start starts a stopped machine.
func (w *world) start(m *machine) {
	if !m.wiped && !m.up {
		m.up, m.stopping = true, 0
		m.boot++
	}
}

// change is a membership or leadership change in flight to the engine, with its executor's view.
type change struct {
	kind  plan.Kind
	a     Action
	alive map[shard.HostID]bool
	seen  map[shard.HostID]bool // the voters
}

// apply applies a change if it matches the engine's membership. It returns a violated rule.
func (w *world) apply(c change) string {
	e := w.engines[c.a.Shard]
	switch {
	case e == nil || e.leader == 0:
		return ""
	case c.kind == KindTransfer:
		if e.leader == c.a.From && w.up(c.a.Host) && e.voters()[c.a.Host] {
			e.leader, e.led = c.a.Host, w.now
			w.tally["transfer"]++
			if c.a.Shard == hosts.Meta {
				w.term++
			}
		}
		return ""
	case c.a.Change != e.change && !w.noCAS:
		w.tally["late change"]++
		return ""
	}
	before := e.voters()
	if !maps.Equal(before, c.seen) {
		return fmt.Sprintf("shard %d: the change was for the voters %v and meets %v", c.a.Shard, c.seen, before)
	}
	m := e.members[c.a.Replica]
	switch {
	case c.kind == KindAdd && m == nil:
		for _, other := range e.members {
			if other.host == c.a.Host {
				return fmt.Sprintf("host %d gets a second replica of shard %d", c.a.Host, c.a.Shard)
			}
		}
		e.members[c.a.Replica] = &replica{host: c.a.Host, role: hosts.RoleLearner, behind: 3}
		e.added++
	case c.kind == KindPromote && m != nil && m.role == hosts.RoleLearner:
		m.role = hosts.RoleVoter
	case c.kind == KindRemove && m != nil:
		delete(e.members, c.a.Replica)
		if e.leader == m.host && m.role == hosts.RoleVoter {
			e.leader = 0
		}
	default:
		return ""
	}
	e.change++
	w.tally[kindNames[c.kind]]++
	return quorumRule(before, e.voters(), c.alive, c.a.Shard)
}

// quorumRule must hold for every change: according to the executor's view, a majority of the voters is alive before and
// after it. It is written from DESIGN.md, without the governor's code.
func quorumRule(before, after, alive map[shard.HostID]bool, id hosts.ShardID) string {
	for what, voters := range map[string]map[shard.HostID]bool{"before": before, "after": after} {
		n := 0
		for h := range voters {
			if alive[h] {
				n++
			}
		}
		if 2*n <= len(voters) && !maps.Equal(before, after) || len(voters) == 0 {
			return fmt.Sprintf("shard %d: %d of %d voters are alive %s a change from %v to %v", id, n, len(voters),
				what,
				before, after)
		}
	}
	return ""
}

// look is the meta leader's observation.
func (w *world) look(self shard.HostID, began uint64) (*Seen, map[shard.HostID]bool) {
	seen := &Seen{Self: self, Began: began}
	alive := map[shard.HostID]bool{}
	for _, m := range w.machines {
		if m.id == 0 || w.records.Host(m.id) == nil {
			continue
		}
		h := HostObservation{Host: m.id, Tried: m.heard != 0, SilentFor: w.now - m.heard}
		if m.heard == 0 {
			m.heard = w.now - 2000 // tried from now on, and not heard yet
		}
		if m.fresh != 0 {
			h.FreshFor = w.now - m.fresh + 1
		}
		if w.paced {
			h.Speed = m.speed(w.figure)
		}
		seen.Hosts = append(seen.Hosts, h)
		alive[m.id] = h.Tried && h.SilentFor < 2000 || m.id == self
	}
	for _, on := range w.records.Shards() {
		id, e := on.ID, w.engines[on.ID]
		switch {
		case on.Phase == hosts.ShardRetired:
			continue
		case e == nil || e.group < on.Group:
			seen.Shards = append(seen.Shards, ShardSeen{Shard: id})
			continue
		}
		s := ShardSeen{Shard: id, Leader: e.leader, LedFor: w.now - e.led, Change: e.change}
		for _, key := range slices.Sorted(maps.Keys(e.members)) {
			m := e.members[key]
			r := ReplicaSeen{ID: key, Index: uint64(100 - m.behind)}
			if m.behind > 0 {
				r.BehindFor, r.Percent, r.Rate = 5000, uint64(100-25*min(m.behind, 3)), 1000
			}
			s.Replicas = append(s.Replicas, r)
		}
		seen.Shards = append(seen.Shards, s)
	}
	return seen, alive
}

// list is the membership as read by a leader.
func (e *engine) list() []hosts.Member {
	var list []hosts.Member
	for _, key := range slices.Sorted(maps.Keys(e.members)) {
		list = append(list, hosts.Member{Replica: key, Role: e.members[key].role})
	}
	return list
}

// String is for debugging.
func (w *world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "now %d term %d policy %s\n", w.now, w.term, w.records.Policy().Text())
	for _, h := range w.records.Hosts() {
		fmt.Fprintf(&b, "host %d %s %s up %t cordoned %t slow %t: %s/%d -> %s/%d (%s)\n", h.ID, h.Name, h.Domain,
			w.up(h.ID), h.Cordoned, h.IsSlow(), h.Current.Variant, h.Current.Epoch, h.Target.Variant, h.Target.Epoch,
			h.Target.Reason)
	}
	for _, id := range w.shards() {
		e := w.engines[id]
		fmt.Fprintf(&b, "shard %d change %d leader %d:", id, e.change, e.leader)
		for _, m := range e.list() {
			fmt.Fprintf(&b, " %d@%d %s-%d", m.Replica, e.members[m.Replica].host, m.Role, e.members[m.Replica].behind)
		}
		fmt.Fprintf(&b, " on record %+v\n", w.records.Shard(id).Replicas)
	}
	for _, s := range w.plan.Steps() {
		fmt.Fprintf(&b, "step %+v\n", s)
	}
	return b.String()
}
