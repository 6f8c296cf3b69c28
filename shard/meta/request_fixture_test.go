package meta

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// cluster is a test machine at the level with host records, with a leader.
type cluster struct {
	testing.TB
	*Machine
	record func(batch []byte) // if not nil, sees each batch before it is applied
}

// registered has data shards 1 and 2 and registered hosts with these names and ids from 1.
func registered(t testing.TB, names ...string) *cluster {
	t.Helper()
	c := &cluster{TB: t, Machine: bootstrapped(2)}
	for i, name := range names {
		h := host(shard.HostID(i+1), name)
		h.Level = level.Newest
		do(c.Machine, register(h))
	}
	do(c.Machine, Command{Kind: CmdClusterLevel, Raise: level.Newest})
	do(c.Machine, Command{Kind: CmdLead, Term: 7})
	if c.Level() != level.Newest || c.Clock().Term != 7 {
		t.Fatal("the level has not risen, or nobody leads")
	}
	return c
}

// withHosts is registered with bootstrapped hosts, started and online.
func withHosts(t testing.TB, names ...string) *cluster {
	t.Helper()
	c := registered(t, names...)
	c.done(c.founding())
	for i, name := range names {
		c.done(bootOf(shard.HostID(i+1), name, 1))
		c.reach(shard.HostID(i + 1))
	}
	return c
}

// founding names all registered hosts, with incarnations matching their ids.
func (c *cluster) founding() *HostsBootstrap {
	r := &HostsBootstrap{}
	for _, h := range c.Hosts() {
		r.InitialMembers = append(r.InitialMembers, InitialMember{ID: h.ID, Incarnation: incarnation(h.ID)})
	}
	return r
}

func incarnation(id shard.HostID) hosts.Incarnation {
	return hosts.Incarnation{byte(id), byte(id >> 8), 1}
}

func addressesOf(name string) hosts.Addresses {
	return hosts.Addresses{Raft: name + ":1", Client: name + ":2", Admin: name + ":3"}
}

func bootOf(id shard.HostID, name string, number uint64) *HostBoot {
	return &HostBoot{hosts.Boot{Host: id, Incarnation: incarnation(id), Start: startOf(number),
		Addresses: addressesOf(name), Version: "1.0", Level: level.Newest}}
}

func startOf(number uint64) hosts.Start { return hosts.Start{Number: number, Draw: 100 + number} }

func joinOf(name string, id shard.HostID) *HostJoin {
	return &HostJoin{hosts.Join{Cluster: "c-1", Name: name, Incarnation: incarnation(id), Addresses: addressesOf(name),
		Version: "1.0", Level: level.Newest, Trusted: true}}
}

var origin = Origin{Wall: 1e12, By: "op", Why: "a test"}

// stamp is the leader's stamp, the given milliseconds after the clock.
func (c *cluster) stamp(later uint64) clock.Stamp {
	now := c.Clock()
	return clock.Stamp{Term: now.Term, Elapsed: now.Now - now.Base + later}
}

// ask executes a request in a batch proposed by the leader, and returns its effects.
func (c *cluster) ask(r Request) []Effect { return c.apply(c.stamp(1), NewCommand(r, origin)) }

// apply applies a command from the log.
func (c *cluster) apply(s clock.Stamp, command Command) []Effect {
	c.Helper()
	command.Level = max(command.Level, c.Level())
	var b Batch
	data := encoded(c, &Batch{Stamp: s, Commands: []Command{command}})
	if err := DecodeBatch(data, &b, c.Level()); err != nil {
		c.Fatal(err)
	}
	if c.record != nil {
		c.record(data)
	}
	var out Effects
	c.Apply(&b, &out)
	return out.List
}

// done executes a request that changes something, and returns its result.
func (c *cluster) done(r Request) Effect {
	c.Helper()
	e := c.ask(r)[0]
	if e.Status != protocol.StatusSuccess || e.Flags != FlagChanged {
		c.Fatalf("%v: %v, flags %b: %s", kindOf(r), e.Status, e.Flags, e.Message)
	}
	return e
}

// existed executes a request that finds its wanted state already.
func (c *cluster) existed(r Request) {
	c.Helper()
	if e := c.ask(r)[0]; e.Status != protocol.StatusSuccess || e.Flags != FlagExisted {
		c.Fatalf("%v: %v, flags %b: %s", kindOf(r), e.Status, e.Flags, e.Message)
	}
}

// refused executes a request that is refused with these words, and changes nothing but the time.
func (c *cluster) refused(status protocol.Status, words string, r Request) {
	c.Helper()
	before := c.Digest()
	list := c.apply(c.stamp(0), NewCommand(r, origin))
	if len(list) != 1 || list[0].Status != status || !strings.Contains(list[0].Message, words) {
		c.Errorf("%v: %+v; want %v with %q", kindOf(r), list, status, words)
	}
	if c.Digest() != before {
		c.Errorf("%v was refused, and something changed", kindOf(r))
	}
}

// reach brings a host to its target state.
func (c *cluster) reach(id shard.HostID) {
	c.Helper()
	h := c.records().Host(id)
	c.done(&HostReach{Term: c.Clock().Term, Host: id, Variant: h.Target.Variant, Epoch: h.Target.Epoch})
}

func (c *cluster) records() *hosts.Records {
	t, _ := c.Topology()
	return t.Records
}

func (c *cluster) plan() *plan.Plan[governor.Action] {
	t, _ := c.Topology()
	return t.Plan
}

// everyRequest has one request of each kind, with distinct values in every field.
func everyRequest() []Request {
	domain := hosts.Domain{{Key: "dc", Value: "a"}, {Key: "rack", Value: "1"}}
	a := addressesOf("x")
	start := hosts.Start{Number: 3, Draw: 1<<64 - 1}
	join := hosts.Join{Cluster: "c-1", Name: "d", Incarnation: incarnation(9), Addresses: a, Domain: domain,
		Version: "1.0", Level: 200, Replace: "b", Token: "t", Trusted: true, Heard: true}
	boot := hosts.Boot{Host: 4, Incarnation: incarnation(4), Start: start, Addresses: a, Version: "2.0", Level: 250,
		Domain: domain}
	policy := kind.Policy{Voters: 1, OfflineAfter: 2 * time.Millisecond, ReplaceAfter: 3 * time.Millisecond,
		StableFor: 4 * time.Millisecond, BalanceEvery: 5 * time.Millisecond, Copies: 6}
	proposal := plan.Proposal[governor.Action]{Kind: governor.KindAdd, Subject: "shard/1",
		With: []plan.Subject{"copy/4"}, Payload: governor.Action{Shard: 1, Replica: 1024, Host: 4, From: 5, Change: 6,
			Variant: 2, Epoch: 7,
			Reason: hosts.ReasonStuck, Text: "stuck"}, Supersedes: 8}
	return append([]Request{
		&HostsBootstrap{InitialMembers: []InitialMember{{ID: 1, Incarnation: incarnation(1)}, {ID: 1 << 60}},
			Generation: hosts.Generation{Number: 2, Draw: [16]byte{3, 15: 4}}},
		&HostJoin{join},
		&HostBoot{boot},
		&HostReturn{Host: 1, Incarnation: incarnation(1), Epoch: 2},
		&HostShutdown{Host: 1, Incarnation: incarnation(1), Start: start},
		&HostRename{Host: 1, Incarnation: incarnation(1), Start: start, Addresses: a},
		&HostDrain{Host: "a"},
		&HostUndrain{Host: "a b\x00"},
		&HostCordon{Host: "a", On: true},
		&HostAlter{Host: "a", Domain: domain},
		&HostExpel{Host: "a", Force: true},
		&HostReplace{Old: "a", New: "b", Heard: true},
		&ShardTransfer{Shard: 1, Host: "b"},
		&PolicySet{From: policy, To: hosts.DefaultPolicy()},
		&TokenCreate{ID: "t", Hash: [32]byte{1, 31: 2}, Millis: 3},
		&TokenRevoke{ID: "t"},
		&HostFailed{Term: 1, Host: 2, Epoch: 3, Reason: 200, Text: "silence"},
		&HostReach{Term: 1, Host: 2, Variant: 200, Epoch: 3},
		&ReplicasKnown{Term: 1, Shard: 2, Change: 3,
			Members: []hosts.Member{{Replica: 4, Role: 2}, {Replica: 5, Role: 9}}},
		&ReplicaCleared{Shard: 1, Replica: 1024, Incarnation: incarnation(3)},
		&StepBegin{Term: 1, Revision: 2, Proposal: proposal},
		&StepReport{Act: plan.Act{Step: 1, Phase: 1<<32 - 1, Failures: 3, Term: 4}, Report: ReportRetry, Phase: 5,
			Text: "why"},
		&StepCancel{Step: 1, Hold: 2},
		&StepForget{Subject: "shard/1"},
	}, append(everyAccess(),
		&BackupNote{Host: 1, Incarnation: incarnation(2), Shard: 3, Phase: 200, Bytes: 1<<64 - 1},
		&ActNote{Host: 1, Incarnation: incarnation(2), What: "session destroy: id 7"},
		&ShardRecover{hosts.Recovery{Shard: 1, Host: 2, Empty: true, Lost: []shard.HostID{3, 4}, Against: "why not"}},
		&ShardsCounted{Term: 1, List: []hosts.Count{{Shard: 1,
			Counters: shard.Counters{LastOrder: 2, LastRevision: 3, LastSession: 4}}}},
		&HostWeigh{Host: "a", Weight: 7},
		&ShardOverlap{Shard: 1},
		&ShardGrants{Shard: 1, Group: 2},
		&ShardBound{Shard: 1, Host: 2,
			Bound: hosts.TimeoutBound{Term: 3, Number: 4, Longest: shard.Longest{Timeout: 5, Session: 6}}},
		anImport(),
		&HostSlow{Term: 1, Host: 2, Slow: true, Text: "log syncs take 52 ms"},
		&SlotMove{Slot: 65_535, To: 2, Large: true, Cancel: true},
		&SlotAssign{Slot: 65_535, Shard: 2, Generation: 1<<64 - 1, Text: "why"},
		&ShardAdd{Hosts: []shard.HostID{1, 2}, Against: "why not"},
		&ShardRemove{Shards: []ShardID{1, 2}},
		&ShardWeigh{Shard: 1, Weight: 7},
		&ShardServe{Term: 1, Shard: 2},
		&ShardRetire{Term: 1, Shard: 2},
		&ShardRestart{Term: 1, Shard: 2, Group: 3, Host: 4},
		&Rebalance{Action: 200})...)
}

// furnishedTopology has something of everything in the host records and the plan.
func furnishedTopology(t testing.TB) *cluster {
	t.Helper()
	c := withHosts(t, "a", "b", "c")
	do(c.Machine, seen(2, 4))
	d, _ := kind.ParseDomain("dc=x,rack=1")
	c.done(&HostAlter{Host: "a", Domain: d})
	c.done(&TokenCreate{ID: "t", Hash: [32]byte{1}, Millis: 60_000})
	join := joinOf("d", 9)
	join.Domain, join.Trusted, join.Token = d, false, "t"
	id := c.done(join).Host
	boot := bootOf(id, "d", 1)
	boot.Incarnation = incarnation(9)
	c.done(boot)
	add := plan.Proposal[governor.Action]{Kind: governor.KindAdd, Subject: "shard/0",
		With: []plan.Subject{"copy/4"}, Payload: governor.Action{Replica: 1024, Host: id}}
	c.done(&StepBegin{Term: 7, Revision: c.plan().Revision(), Proposal: add})
	c.done(&StepReport{Act: c.plan().Step(1).Act(7), Report: ReportRetry, Text: "no answer"})
	reach := plan.Proposal[governor.Action]{Kind: governor.KindReach, Subject: "host/4",
		Payload: governor.Action{Host: id, Variant: protocol.HostOnline, Epoch: 1}}
	c.done(&StepBegin{Term: 7, Revision: c.plan().Revision(), Proposal: reach})
	c.done(&StepCancel{Step: 2, Hold: 5_000})
	c.done(&ReplicasKnown{Term: 7, Shard: 1, Change: 3, Members: votersOf(1, 2)})
	c.done(&ShardTransfer{Shard: 1, Host: "b"})
	c.done(tokenOf("ci", access.Grant{Role: "write", Path: "/prod"}))
	counters := shard.Counters{LastOrder: 2, LastRevision: 3}
	c.done(&ShardsCounted{Term: 7, List: []hosts.Count{{Shard: 1, Counters: counters}}})
	c.done(&HostSlow{Term: 7, Host: 2, Slow: true, Text: "log syncs take 52 ms"})
	c.move(5, 1, 2, func(g uint64) *SlotAssign { return &SlotAssign{Slot: 5, Shard: 2, Generation: g} })
	c.done(&SlotMove{Slot: 6, To: 2})
	return c
}
