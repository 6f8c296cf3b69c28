package hosts

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
)

// TestALearnerIsAddedPromotedAndRemoved follows one replica from its id to the deletion of its data.
func TestALearnerIsAddedPromotedAndRemoved(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.Join(f.at(), joinOf("d", 4)))
	f.refused(protocol.StatusStale, "1024", func() Answer { return f.Allocate(f.at(), 1, 4, 1025, 0) })
	f.refused(protocol.StatusNotFound, "shard 9", func() Answer { return f.Allocate(f.at(), 9, 4, 1024, 0) })
	f.refused(protocol.StatusPreconditionFailed, "shard 1 already has a replica", func() Answer {
		return f.Allocate(f.at(), 1, 3, 1024, 0)
	})
	f.done(f.Allocate(f.at(), 1, 4, 1024, 0))
	f.done(f.Allocate(f.at(), 1, 4, 1024, 3)) // again, for another membership
	f.refused(protocol.StatusStale, "already exists", func() Answer { return f.Allocate(f.at(), 1, 3, 1024, 0) })
	f.done(f.known(1, 4, []uint64{1, 2, 3}, []uint64{1024}))
	f.existed(f.known(1, 4, []uint64{1, 2, 3}, []uint64{1024}))
	f.refused(protocol.StatusStale, "change 4", func() Answer { return f.known(1, 3, []uint64{1, 2, 3}, nil) })
	f.refused(protocol.StatusPreconditionFailed, "two memberships", func() Answer {
		return f.known(1, 4, []uint64{1, 2, 3}, nil)
	})
	p := f.Shard(1).On(4)
	if p.Role != RoleLearner || !p.Joined || f.NextReplica() != 1025 {
		t.Fatalf("the learner is %+v", p)
	}
	f.refused(protocol.StatusPreconditionFailed, "is a learner", func() Answer {
		return f.Cleared(f.at(), 1, 1024, incarnation(4))
	})
	f.done(f.known(1, 5, []uint64{1, 2, 3, 1024}, nil))
	f.done(f.known(1, 6, []uint64{1, 2, 3}, nil))
	if p = f.Shard(1).On(4); p.Role != RoleRemoved {
		t.Fatalf("the removed one is %+v", p)
	}
	f.refused(protocol.StatusPreconditionFailed, "a different host", func() Answer {
		return f.Cleared(f.at(), 1, 1024, incarnation(3))
	})
	f.done(f.Cleared(f.at(), 1, 1024, incarnation(4)))
	f.existed(f.Cleared(f.at(), 1, 1024, incarnation(4)))
	if f.Shard(1).On(4) != nil || f.NextReplica() != 1025 {
		t.Error("the id could be given again")
	}
	f.done(f.Allocate(f.at(), 1, 4, 1025, 6))
	f.done(f.known(1, 7, []uint64{1, 2, 3}, nil))
	if f.Shard(1).Replica(1025) != nil {
		t.Error("what can no longer be added is remembered")
	}
}

func TestAMembershipOfOthersIsTakenOver(t *testing.T) {
	f := newFixture(t, "a", "b")
	f.done(f.known(1, 9, []uint64{1, 2, 5000}, nil))
	if p := f.Shard(1).Replica(5000); p == nil || p.Host != 0 || f.NextReplica() != 5001 {
		t.Errorf("a replica of no record: %+v", p)
	}
	if loaded, err := Load(f.Save(nil)); err != nil || loaded.Shard(1).Voters() != 3 {
		t.Errorf("it is not loaded: %v", err)
	}
	for what, list := range map[string][]Member{
		"none": nil, "no id": {{Role: RoleVoter}}, "no role": {{Replica: 1}},
		"not by id": {{Replica: 2, Role: RoleVoter}, {Replica: 1, Role: RoleVoter}},
	} {
		t.Run(what, func(t *testing.T) {
			f.refused(protocol.StatusBadRequest, "by id", func() Answer { return f.Known(f.at(), 7, 1, 20, list) })
		})
	}
	f.refused(protocol.StatusStale, "term 6", func() Answer {
		return f.Known(f.at(), 6, 1, 20, []Member{{Replica: 1, Role: RoleVoter}})
	})
	f.refused(protocol.StatusNotFound, "shard 8", func() Answer { return f.known(8, 20, []uint64{1}, nil) })
}

func TestATransferIsAskedFor(t *testing.T) {
	f := newFixture(t, "a", "b")
	for id, want := range []string{"to lead the meta shard", "to lead shard 1"} {
		f.done(f.Transfer(f.at(), ShardID(id), "b"))
		if e := f.Audit(f.LastAudit(), 1); len(e) != 1 || e[0].Text != want {
			t.Errorf("the audit log has %+v, want %q", e, want)
		}
	}
	f.existed(f.Transfer(f.at(), 1, "b"))
	if s := f.Shard(1); s.Wish != 2 || s.WishUntil != f.now+1+WishMillis {
		t.Errorf("the wish is %+v", s)
	}
	f.Transferred(f.at(), 1)
	if s := f.Shard(1); s.Wish != 0 || s.Transferred != f.now+1 {
		t.Errorf("after it began: %+v", s)
	}
	f.refused(protocol.StatusNotFound, "shard 4", func() Answer { return f.Transfer(f.at(), 4, "b") })
	f.done(f.Join(f.at(), joinOf("d", 4)))
	f.refused(protocol.StatusPreconditionFailed, "not online", func() Answer { return f.Transfer(f.at(), 1, "d") })
}

func TestPolicies(t *testing.T) {
	f := newFixture(t, "a")
	was := f.Policy()
	to := was
	to.Voters = 3
	f.done(f.SetPolicy(f.at(), was, to))
	f.existed(f.SetPolicy(f.at(), was, to))
	other := was
	other.Voters = 5
	f.refused(protocol.StatusFenced, "meanwhile", func() Answer { return f.SetPolicy(f.at(), was, other) })
	for what, change := range map[string]func(*host.Policy){
		"two voters":           func(p *host.Policy) { p.Voters = 2 },
		"offline at once":      func(p *host.Policy) { p.OfflineAfter = 0 },
		"replaced too early":   func(p *host.Policy) { p.OfflineAfter, p.ReplaceAfter = time.Minute, 10*time.Second },
		"no copy":              func(p *host.Policy) { p.Copies = 0 },
		"a rest of no time":    func(p *host.Policy) { p.BalanceEvery = time.Millisecond },
		"a stability of hours": func(p *host.Policy) { p.StableFor = math.MaxInt64 },
	} {
		t.Run(what, func(*testing.T) {
			p := was
			change(&p)
			f.refused(protocol.StatusBadRequest, "", func() Answer { return f.SetPolicy(f.at(), to, p) })
		})
	}
}

func TestTokens(t *testing.T) {
	f := newFixture(t, "a")
	hash := [32]byte{1}
	f.refused(protocol.StatusBadRequest, "1 to", func() Answer { return f.CreateToken(f.at(), "t", hash, 0) })
	f.refused(protocol.StatusBadRequest, "secret", func() Answer { return f.CreateToken(f.at(), "t", [32]byte{}, 9) })
	f.done(f.CreateToken(f.at(), "t", hash, 100))
	f.existed(f.CreateToken(f.at(), "t", hash, 100))
	f.refused(protocol.StatusAlreadyExists, "a different secret", func() Answer {
		return f.CreateToken(f.at(), "t", [32]byte{2}, 9)
	})
	if f.Token(1100, "t", incarnation(4)) == nil || f.Token(1101, "t", incarnation(4)) != nil {
		t.Error("a token is good before its end, and not after it")
	}
	f.done(f.RevokeToken(f.at(), "t"))
	f.existed(f.RevokeToken(f.at(), "t"))
	for i := range MaxTokens {
		f.done(f.CreateToken(f.at(), fmt.Sprint(i), hash, 100))
	}
	f.refused(protocol.StatusOverloaded, "64", func() Answer { return f.CreateToken(f.at(), "t", hash, 100) })
	f.now += 200
	f.done(f.CreateToken(f.at(), "t", hash, 100))
	if len(f.Tokens()) != 1 {
		t.Errorf("%d tokens are kept that are over", len(f.Tokens())-1)
	}
}

// TestTheAuditHistoryIsBounded: the newest entries are kept, with their numbers.
func TestTheAuditHistoryIsBounded(t *testing.T) {
	f := newFixture(t, "a", "b")
	for i := range MaxAudit + 5 {
		f.done(f.Cordon(f.at(), "a", i%2 == 0))
	}
	last := f.LastAudit()
	list := f.Audit(0, math.MaxInt)
	if len(list) != MaxAudit || list[len(list)-1].Number != last || list[0].Number != last-MaxAudit+1 {
		t.Fatalf("%d entries up to %d", len(list), last)
	}
	if got := f.Audit(last-1, 1); len(got) != 1 || got[0].Number != last-1 || len(f.Audit(last+1, 1)) != 0 {
		t.Errorf("a page of it: %v", got)
	}
	if s := list[0].String(); s != fmt.Sprintf("%d alter host a: uncordoned, by op: a test", list[0].Number) {
		t.Error(s)
	}
	clone := f.Clone()
	f.done(f.Cordon(f.at(), "b", true))
	if clone.LastAudit() != last || clone.Named("b").Cordoned || clone.Revision() == f.Revision() {
		t.Error("a clone changes with the records")
	}
	if _, err := Load(f.Save(nil)); err != nil {
		t.Error(err)
	}
}

func TestDomains(t *testing.T) {
	for text, want := range map[string]string{"": "", "RACK=1,dc=A": "dc=a,rack=1", "dc": "error", "a=b=c": "error",
		"a=": "error"} {
		d, err := host.ParseDomain(text)
		if err != nil != (want == "error") || err == nil && d.String() != want {
			t.Errorf("%q: %s, %v", text, d, err)
		}
	}
	for _, x := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"dc=a", "dc=a", 0}, {"dc=a,rack=1", "dc=a,rack=2", 1}, {"dc=a", "", 1}, {"dc=a", "dc=b,rack=1",
		2}} {
		a, _ := host.ParseDomain(x.a)
		b, _ := host.ParseDomain(x.b)
		if a.Distance(b) != x.want || b.Distance(a) != x.want {
			t.Errorf("%q and %q: %d", x.a, x.b, a.Distance(b))
		}
	}
}

// TestOldExpelledHostsAreForgotten: hosts with the lowest ids.
func TestOldExpelledHostsAreForgotten(t *testing.T) {
	f := newFixture(t, "a")
	for i := range MaxExpelled + 2 {
		j := joinOf("d", 0)
		j.Incarnation = Incarnation{1: byte(i), 2: byte(i >> 8), 3: 1}
		f.done(f.Join(f.at(), j))
		f.done(f.Expel(f.at(), "d", true, 0))
		f.reach(fmt.Sprint(i + 2))
	}
	if f.Host(2) != nil || f.Host(3) != nil || f.Host(4) == nil || len(f.Hosts()) != MaxExpelled+1 {
		t.Errorf("%d hosts are remembered", len(f.Hosts()))
	}
	loaded, err := Load(f.Save(nil))
	if err != nil || !bytes.Equal(loaded.Save(nil), f.Save(nil)) {
		t.Error(err)
	}
	if !slices.ContainsFunc(loaded.Hosts(), func(h *Host) bool { return h.Name == "a" }) {
		t.Error("a living host is forgotten")
	}
}

// TestALearnerIsReadFromOnceItIsFilled: a learner is added unfilled, and later reports never revert the learner to
// unfilled.
func TestALearnerIsReadFromOnceItIsFilled(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.Join(f.at(), joinOf("d", 4)))
	learner := f.NextReplica()
	f.done(f.Allocate(f.at(), 1, 4, learner, 11))
	members := func(filled bool) []Member {
		return []Member{{Replica: 1, Role: RoleVoter}, {Replica: 2, Role: RoleVoter}, {Replica: 3, Role: RoleVoter},
			{Replica: learner, Role: RoleLearner, Filled: filled}}
	}
	reads := func() bool { return f.Shard(1).Replica(learner).Reads() }
	f.done(f.Known(f.at(), 7, 1, 11, members(false)))
	if reads() {
		t.Error("a learner that was just added is read from")
	}
	changed := f.Host(4).Changed
	f.done(f.Known(f.at(), 7, 1, 11, members(true)))
	if !reads() || f.Host(4).Changed <= changed {
		t.Error("a filled learner is not read from, or clients do not hear of it")
	}
	for _, filled := range []bool{true, false} {
		if a := f.Known(f.at(), 7, 1, 11, members(filled)); !a.Existed || !reads() {
			t.Errorf("the next report that says %v: %+v", filled, a)
		}
	}
	if loaded, err := Load(f.Save(nil)); err != nil || !loaded.Shard(1).Replica(learner).Reads() {
		t.Errorf("loaded records: %v", err)
	}
}
