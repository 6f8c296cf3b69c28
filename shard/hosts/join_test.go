package hosts

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

func TestWhoMayJoin(t *testing.T) {
	for what, x := range map[string]struct {
		change func(f *fixture, j *Join)
		status protocol.Status
		words  string
	}{
		"a name":       {func(_ *fixture, j *Join) { j.Name = "" }, protocol.StatusBadRequest, "name"},
		"a sound name": {func(_ *fixture, j *Join) { j.Name = "a b" }, protocol.StatusBadRequest, "0x20"},
		"an address":   {func(_ *fixture, j *Join) { j.Addresses.Raft = "" }, protocol.StatusBadRequest, "Raft"},
		"an incarnation": {func(_ *fixture, j *Join) { j.Incarnation = Incarnation{} }, protocol.StatusBadRequest,
			"128"},
		"a domain in order": {func(_ *fixture, j *Join) {
			j.Domain = Domain{{Key: "b", Value: "x"}, {Key: "a", Value: "y"}}
		}, protocol.StatusBadRequest, "order"},
		"the cluster": {func(_ *fixture, j *Join) { j.Cluster = "other" }, protocol.StatusPreconditionFailed,
			"cluster id is c"},
		"a free name": {func(_ *fixture, j *Join) { j.Name = "b" }, protocol.StatusAlreadyExists, "--replace b"},
		"a near version": {func(_ *fixture, j *Join) { j.Version = "1.6.0" }, protocol.StatusPreconditionFailed,
			"same minor version"},
		"no older version": {func(_ *fixture, j *Join) { j.Version = "v1.2.9" }, protocol.StatusPreconditionFailed,
			"same minor version"},
		"the level": {func(_ *fixture, j *Join) { j.Level-- }, protocol.StatusPreconditionFailed,
			"feature level"},
		"an own address": {func(_ *fixture, j *Join) { j.Addresses.Raft = "a:7402" },
			protocol.StatusPreconditionFailed, "host a already uses a:7402"},
		"the keys of others": {func(f *fixture, _ *Join) {
			f.done(f.Alter(f.at(), "a", Domain{{Key: "dc", Value: "x"}}))
		}, protocol.StatusPreconditionFailed, "lacks the key dc"},
		"a token": {func(_ *fixture, j *Join) { j.Trusted = false }, protocol.StatusUnauthorized,
			"join-token"},
		"someone to replace": {func(_ *fixture, j *Join) { j.Replace = "x" }, protocol.StatusNotFound, "no host x"},
		"a dead one": {func(_ *fixture, j *Join) { j.Replace, j.Heard = "b", true },
			protocol.StatusPreconditionFailed, "alive"},
		"a quorum without it": {func(f *fixture, j *Join) {
			f.done(f.Shutdown(f.at(), 3, incarnation(3), start(1)))
			j.Replace = "b"
		}, protocol.StatusPreconditionFailed, "would leave 1 of 3 voters of shard 0"},
		"one that is not expelled": {func(f *fixture, j *Join) {
			f.done(f.Expel(f.at(), "c", true, 0))
			j.Incarnation = incarnation(3)
		}, protocol.StatusPreconditionFailed, "expelled"},
		"the name of its directory": {func(_ *fixture, j *Join) { j.Incarnation = incarnation(3) },
			protocol.StatusPreconditionFailed, "to host c"},
	} {
		t.Run(what, func(t *testing.T) {
			f, j := newFixture(t, "a", "b", "c"), joinOf("d", 4)
			x.change(f, &j)
			f.refused(x.status, x.words, func() Answer { return f.Join(f.at(), j) })
		})
	}
}

// TestAJoinIsRepeated: a lost answer is repeated, even with a used token.
func TestAJoinIsRepeated(t *testing.T) {
	f, j := newFixture(t, "a"), joinOf("d", 4)
	f.done(f.CreateToken(f.at(), "t", [32]byte{1}, 1000))
	j.Trusted, j.Token = false, "t"
	a := f.Join(f.at(), j)
	f.done(a)
	again := f.Join(f.at(), j)
	if f.existed(again); again.Host != a.Host {
		t.Errorf("host %d joins again as %d", a.Host, again.Host)
	}
	other := joinOf("e", 5)
	other.Trusted, other.Token = false, "t"
	f.refused(protocol.StatusUnauthorized, "used", func() Answer { return f.Join(f.at(), other) })
	j.Domain = Domain{{Key: "dc", Value: "x"}}
	f.refused(protocol.StatusPreconditionFailed, "failure domain", func() Answer { return f.Join(f.at(), j) })
}

// TestANewcomerBootsAndIsBroughtOnline: a newcomer is offline until its process reports that it runs.
func TestANewcomerBootsAndIsBroughtOnline(t *testing.T) {
	f := newFixture(t, "a")
	f.done(f.Join(f.at(), joinOf("d", 4)))
	d := f.Named("d")
	if d.ID != 2 || d.Wanted() || d.Online() || d.Target.Reason != ReasonJoined {
		t.Fatalf("it has joined as %+v", d)
	}
	b := bootOf(2, "d", 1)
	b.Incarnation = incarnation(4)
	f.done(f.Boot(f.at(), b))
	f.existed(f.Boot(f.at(), b))
	if d = f.Named("d"); !d.Wanted() || d.Online() || d.Target.Epoch != 1 {
		t.Fatalf("it has booted as %+v", d)
	}
	f.reach("d")
	if !f.Named("d").Online() {
		t.Error("it is not online")
	}
}

// TestAHostIsReplaced: the old host is to be expelled at once, and the new host may use its name.
func TestAHostIsReplaced(t *testing.T) {
	f, j := newFixture(t, "a", "b", "c"), joinOf("b", 4)
	j.Replace, j.Addresses, j.Grace = "b", addresses("b"), 10_000
	f.done(f.Join(f.at(), j))
	old, next := f.Host(2), f.Named("b")
	if old.Living() || old.Grace != 10_000 || next.ID != 4 || next.Replaces != 2 {
		t.Errorf("the old one is %+v, the new one %+v", old, next)
	}
	f.existed(f.Join(f.at(), j))
	f.refused(protocol.StatusPreconditionFailed, "expelled", func() Answer { return f.Boot(f.at(), bootOf(2, "b", 2)) })
}

// TestAHostMayAlwaysReplaceItsOwnName: a first host with a name replaces no host; a later host replaces its
// predecessor, unless the predecessor is alive.
func TestAHostMayAlwaysReplaceItsOwnName(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	first, second := joinOf("d", 4), joinOf("d", 5)
	first.Replace, second.Replace = "d", "d"
	f.done(f.Join(f.at(), first))
	if h := f.Named("d"); h.Replaces != 0 || h.ID != 4 {
		t.Errorf("the first is %+v", h)
	}
	heard := second
	heard.Heard = true
	f.refused(protocol.StatusPreconditionFailed, "alive", func() Answer { return f.Join(f.at(), heard) })
	f.done(f.Join(f.at(), second))
	if h := f.Named("d"); h.Replaces != 4 || h.ID != 5 || f.Host(4).Living() {
		t.Errorf("the second is %+v, the first %+v", h, f.Host(4))
	}
}

func TestAReplacementByCommand(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.Join(f.at(), joinOf("d", 4)))
	f.refused(protocol.StatusPreconditionFailed, "the target is not online", func() Answer {
		return f.Replace(f.at(), "c", "d", false, 1)
	})
	b := bootOf(4, "d", 1)
	f.done(f.Boot(f.at(), b))
	f.refused(protocol.StatusPreconditionFailed, "alive", func() Answer { return f.Replace(f.at(), "c", "d", true, 1) })
	f.refused(protocol.StatusNotFound, "no host \"x\"", func() Answer { return f.Replace(f.at(), "x", "d", false, 1) })
	f.refused(protocol.StatusBadRequest, "itself", func() Answer { return f.Replace(f.at(), "d", "d", false, 1) })
	f.done(f.Replace(f.at(), "c", "d", false, 1))
	f.existed(f.Replace(f.at(), "3", "d", false, 1))
	f.refused(protocol.StatusPreconditionFailed, "would leave 1 of 3", func() Answer {
		return f.Replace(f.at(), "b", "d", false, 1)
	})
}

func TestTheClusterHasALimitOfHosts(t *testing.T) {
	names := strings.Split("a b c d e f g h i", " ")
	f := newFixture(t, names...)
	f.refused(protocol.StatusPreconditionFailed, "has 9 hosts", func() Answer {
		return f.Join(f.at(), joinOf("j", 40))
	})
	f.done(f.Expel(f.at(), "i", true, 0))
	f.done(f.Join(f.at(), joinOf("i", 40)))
	if f.Named("i").ID != 10 {
		t.Error("the id of an expelled host is given again")
	}
}

func TestInitialMembersAreChecked(t *testing.T) {
	good := InitialMember{ID: 1, Name: "a", Addresses: addresses("a")}
	for what, list := range map[string][]InitialMember{
		"none":             nil,
		"no id":            {{Name: "a", Addresses: addresses("a")}},
		"two of one id":    {good, {ID: 1, Name: "b", Addresses: addresses("b")}},
		"two of one name":  {good, {ID: 2, Name: "a", Addresses: addresses("b")}},
		"an id of others":  {{ID: FirstReplica, Name: "a", Addresses: addresses("a")}},
		"no address":       {{ID: 1, Name: "a"}},
		"too many":         make([]InitialMember, MaxHosts+1),
		"a wrong version":  {{ID: 1, Name: "a", Addresses: addresses("a"), Version: "1 2"}},
		"a name too short": {{ID: 1, Addresses: addresses("a")}},
	} {
		f := &fixture{T: t, Records: New("c", nil)}
		t.Run(what, func(*testing.T) {
			f.refused(protocol.StatusBadRequest, "", func() Answer { return f.Bootstrap(f.at(), list) })
		})
	}
	f := newFixture(t, "a")
	f.existed(f.Bootstrap(f.at(), nil))
}
