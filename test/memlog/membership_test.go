package memlog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// newGroup is a cluster with more hosts than members.
func newGroup(t testing.TB, cfg memlog.Config, hosts int, members ...shard.HostID) *cluster {
	t.Helper()
	for h := range hosts {
		cfg.Hosts = append(cfg.Hosts, shard.HostID(h+1))
	}
	n, err := memlog.NewNetwork(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	g, err := n.NewGroup(theGroup, members...)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, net: n, group: g, logs: map[shard.HostID]*memlog.Log{},
		machines: map[shard.HostID]*recorder{}}
	for _, h := range members {
		c.open(h)
	}
	return c
}

// join starts a replica on a host.
func (c *cluster) join(h shard.HostID, replica uint64) {
	c.t.Helper()
	m := newRecorder(c.t)
	l, err := c.net.Join(h, theGroup, replica, m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.logs[h], c.machines[h] = l, m
}

// change asks a host to change the current membership.
func (c *cluster) change(at shard.HostID, kind memlog.ChangeKind, replica uint64, host shard.HostID) *pending[error] {
	c.t.Helper()
	return c.changeOf(at, memlog.Change{Kind: kind, Replica: replica, Host: host, For: c.group.Membership().Change})
}

func (c *cluster) changeOf(at shard.HostID, change memlog.Change) *pending[error] {
	c.t.Helper()
	p := &pending[error]{}
	if err := c.logs[at].ChangeMembership(change, func(err error) { p.value = err; p.count++ }); err != nil {
		c.t.Fatalf("changing the membership at host %d: %v", at, err)
	}
	return p
}

// must waits for a successful change.
func (c *cluster) must(p *pending[error]) {
	c.t.Helper()
	if err := await(c, p); err != nil {
		c.t.Fatalf("the change fails: %v\n%v", err, c.group)
	}
}

// members is the membership as a text: learners in brackets.
func (c *cluster) members() string {
	text := ""
	for _, m := range c.group.Membership().Members {
		if m.Voter {
			text += fmt.Sprintf("%d@%d ", m.Replica, m.Host)
		} else {
			text += fmt.Sprintf("(%d@%d) ", m.Replica, m.Host)
		}
	}
	return text
}

func (c *cluster) wantMembers(want string) {
	c.t.Helper()
	if got := c.members(); got != want+" " {
		c.t.Fatalf("members %s, want %s", got, want)
	}
}

// TestMembershipChangesByTheRules: permitted changes succeed. Forbidden changes are refused with a reason and have no
// effect.
func TestMembershipChangesByTheRules(t *testing.T) {
	add, promote, remove := memlog.ChangeAdd, memlog.ChangePromote, memlog.ChangeRemove
	for _, step := range []struct {
		name    string
		prepare []memlog.Change // each for the membership at that time
		change  memlog.Change
		old     bool // for the bootstrap membership
		want    error
		members string
	}{
		{"a learner is added", nil, memlog.Change{Kind: add, Replica: 1024, Host: 4}, false, nil,
			"1@1 2@2 3@3 (1024@4)"},
		{"on a host that has a replica", nil, memlog.Change{Kind: add, Replica: 1024, Host: 3}, false,
			shard.ErrMembershipRule, "1@1 2@2 3@3"},
		{"under an id that is taken", nil, memlog.Change{Kind: add, Replica: 3, Host: 4}, false,
			shard.ErrMembershipRule, "1@1 2@2 3@3"},
		{"on a host that is not there", nil, memlog.Change{Kind: add, Replica: 1024, Host: 9}, false,
			shard.ErrMembershipRule, "1@1 2@2 3@3"},
		{"for an older membership", []memlog.Change{{Kind: remove, Replica: 3}},
			memlog.Change{Kind: add, Replica: 1024, Host: 4}, true, shard.ErrOtherMembership, "1@1 2@2"},
		{"a learner is promoted", []memlog.Change{{Kind: add, Replica: 1024, Host: 4}},
			memlog.Change{Kind: promote, Replica: 1024}, false, nil, "1@1 2@2 3@3 1024@4"},
		{"a voter is promoted", nil, memlog.Change{Kind: promote, Replica: 2}, false, shard.ErrMembershipRule,
			"1@1 2@2 3@3"},
		{"what is not there is promoted", nil, memlog.Change{Kind: promote, Replica: 1024}, false,
			shard.ErrMembershipRule, "1@1 2@2 3@3"},
		{"a voter is removed", nil, memlog.Change{Kind: remove, Replica: 3}, false, nil, "1@1 2@2"},
		{"a learner is removed", []memlog.Change{{Kind: add, Replica: 1024, Host: 4}},
			memlog.Change{Kind: remove, Replica: 1024}, false, nil, "1@1 2@2 3@3"},
		{"what was removed is removed again", []memlog.Change{{Kind: remove, Replica: 3}},
			memlog.Change{Kind: remove, Replica: 3}, false, shard.ErrMembershipRule, "1@1 2@2"},
		{"an id that was removed is added", []memlog.Change{{Kind: remove, Replica: 3}},
			memlog.Change{Kind: add, Replica: 3, Host: 3}, false, shard.ErrMembershipRule, "1@1 2@2"},
		{"its host gets another id", []memlog.Change{{Kind: remove, Replica: 3}},
			memlog.Change{Kind: add, Replica: 1024, Host: 3}, false, nil, "1@1 2@2 (1024@3)"},
		{"the last voter is removed", []memlog.Change{{Kind: remove, Replica: 3}, {Kind: remove, Replica: 2}},
			memlog.Change{Kind: remove, Replica: 1}, false, shard.ErrMembershipRule, "1@1"},
	} {
		t.Run(step.name, func(t *testing.T) {
			c := newGroup(t, memlog.Config{Seed: 1}, 4, 1, 2, 3)
			c.led(1)
			for _, p := range step.prepare {
				p.For = c.group.Membership().Change
				c.must(c.changeOf(1, p))
			}
			if !step.old {
				step.change.For = c.group.Membership().Change
			}
			if err := await(c, c.changeOf(1, step.change)); !errors.Is(err, step.want) {
				t.Errorf("%v, want %v", err, step.want)
			}
			c.wantMembers(step.members)
			c.wantOutcome(c.propose(1, "goes on"), shard.OutcomeApplied)
		})
	}
}

// TestGroupMovesToOtherHosts: one voter becomes three, and three other voters replace them. Nothing is lost.
func TestGroupMovesToOtherHosts(t *testing.T) {
	c := newGroup(t, memlog.Config{Seed: 2, SnapshotEvery: 3,
		Path: memlog.Path{Delay: memlog.Exactly(time.Millisecond)}}, 6, 1)
	c.led(1)
	var want []string
	say := func(h shard.HostID) {
		want = append(want, fmt.Sprint("batch ", len(want)))
		c.wantOutcome(c.propose(h, want[len(want)-1]), shard.OutcomeApplied)
	}
	for range 10 {
		say(1)
	}
	for h := shard.HostID(2); h <= 6; h++ {
		c.must(c.change(1, memlog.ChangeAdd, 1000+uint64(h), h))
		c.join(h, 1000+uint64(h))
		say(1)
		c.until("the learner has all", func() bool { return c.status(h).Applied == c.status(1).Applied })
		c.must(c.change(1, memlog.ChangePromote, 1000+uint64(h), 0))
		say(1)
	}
	c.wantMembers("1@1 1002@2 1003@3 1004@4 1005@5 1006@6")
	for h := shard.HostID(2); h <= 3; h++ {
		c.must(c.change(1, memlog.ChangeRemove, 1000+uint64(h), 0))
		say(1)
	}
	if err := c.logs[1].Transfer(4); err != nil {
		t.Fatal(err)
	}
	c.led(4)
	c.must(c.change(4, memlog.ChangeRemove, 1, 0))
	say(4)
	c.net.Advance(time.Second)
	for h := shard.HostID(4); h <= 6; h++ {
		for _, batch := range want {
			if !c.machines[h].holds(batch) {
				t.Errorf("host %d lacks %s", h, batch)
			}
		}
	}
	c.wantMembers("1004@4 1005@5 1006@6")
	for h := shard.HostID(1); h <= 3; h++ {
		if err := c.logs[h].Propose(nil, nil); !errors.Is(err, shard.ErrLogClosed) {
			t.Errorf("the removed replica of host %d: %v", h, err)
		}
	}
}

// TestLearnersHaveAllAndDoNotVote: a learner applies and reads, and neither elects nor commits.
func TestLearnersHaveAllAndDoNotVote(t *testing.T) {
	c := newGroup(t, memlog.Config{Seed: 3}, 3, 1)
	c.led(1)
	for h := shard.HostID(2); h <= 3; h++ {
		c.must(c.change(1, memlog.ChangeAdd, 1000+uint64(h), h))
		c.join(h, 1000+uint64(h))
	}
	c.net.Isolate(3)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	c.until("the learner has it", func() bool { return c.machines[2].holds("a") })
	if err := await(c, c.barrier(2)); err != nil {
		t.Errorf("a learner's barrier: %v", err)
	}
	if err := c.logs[1].Transfer(2); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("the leadership goes to a learner: %v", err)
	}
	if err := c.group.Elect(2); !errors.Is(err, memlog.ErrNotElectable) {
		t.Errorf("a learner is elected: %v", err)
	}
	c.net.HealAll()
	c.net.Kill(1)
	term := c.group.Leader().Term
	c.net.Advance(time.Minute)
	if l := c.group.Leader(); l.Term != term {
		t.Errorf("learners have elected %v", l)
	}
	c.net.Restart(1)
	c.open(1)
	c.led(1)
	c.wantOutcome(c.propose(1, "b"), shard.OutcomeApplied)
}

// TestChangeCanHaveAnUnknownOutcome: a change with an unknown outcome still takes effect, visible in the membership.
func TestChangeCanHaveAnUnknownOutcome(t *testing.T) {
	c := newGroup(t, memlog.Config{Seed: 4, LateOutcome: 1}, 4, 1, 2, 3)
	c.led(1)
	if err := await(c, c.change(1, memlog.ChangeAdd, 1024, 4)); !errors.Is(err, shard.ErrMembershipUnknown) {
		t.Errorf("%v, want an unknown outcome", err)
	}
	c.net.Advance(time.Second)
	c.wantMembers("1@1 2@2 3@3 (1024@4)")
}

// TestOneChangeIsUnderWay: a second change is refused meanwhile, and a non-leader accepts none.
func TestOneChangeIsUnderWay(t *testing.T) {
	c := newGroup(t, memlog.Config{Seed: 5}, 5, 1, 2, 3)
	c.led(1)
	c.net.StickDisk(2)
	c.net.StickDisk(3)
	first := c.change(1, memlog.ChangeAdd, 1024, 4)
	if err := await(c, c.change(1, memlog.ChangeAdd, 1025, 5)); !errors.Is(err, shard.ErrLogBusy) {
		t.Errorf("a second change: %v", err)
	}
	if err := await(c, c.change(2, memlog.ChangeAdd, 1025, 5)); !errors.Is(err, shard.ErrNotLeader) {
		t.Errorf("a change at a follower: %v", err)
	}
	c.net.FreeDisk(2)
	c.net.FreeDisk(3)
	c.must(first)
	c.must(c.change(1, memlog.ChangeAdd, 1025, 5))
	c.wantMembers("1@1 2@2 3@3 (1024@4) (1025@5)")
}

// TestRemovedLeaderStepsDown: the removed leader does not know the outcome, and another host leads.
func TestRemovedLeaderStepsDown(t *testing.T) {
	c := newGroup(t, memlog.Config{Seed: 6}, 3, 1, 2, 3)
	c.led(1)
	if err := await(c, c.change(1, memlog.ChangeRemove, 1, 0)); !errors.Is(err, shard.ErrMembershipUnknown) {
		t.Errorf("a leader removes itself: %v", err)
	}
	c.wantMembers("2@2 3@3")
	c.until("another host leads", func() bool { l := c.group.Leader().Leader; return l == 2 || l == 3 })
	c.wantOutcome(c.propose(c.group.Leader().Leader, "goes on"), shard.OutcomeApplied)
}

// TestReplicaThatDoesNotHearOfItsRemovalIsHarmless: the removed replica neither leads nor votes, and is gone once
// discarded.
func TestReplicaThatDoesNotHearOfItsRemovalIsHarmless(t *testing.T) {
	c := newGroup(t, memlog.Config{Seed: 7}, 3, 1, 2, 3)
	c.led(1)
	c.net.Isolate(3)
	c.must(c.change(1, memlog.ChangeRemove, 3, 0))
	if err := c.net.Discard(1, theGroup, 1); !errors.Is(err, shard.ErrMembershipRule) {
		t.Errorf("a member is discarded: %v", err)
	}
	c.net.Advance(time.Second)
	c.net.HealAll()
	term := c.group.Leader().Term
	c.net.Advance(time.Minute)
	if l := c.group.Leader(); l.Leader != 1 || l.Term != term {
		t.Errorf("the removed replica has disturbed the others: %v", l)
	}
	still := func() {
		if err := await(c, c.barrier(3)); err == nil {
			t.Error("the removed replica reads as if it were a member")
		}
	}
	still()
	// The host, unaware of the removal, starts the replica again.
	c.net.PowerFail(3)
	c.net.Restart(3)
	l, err := c.net.Open(3, theGroup, newRecorder(t))
	if err != nil {
		t.Fatalf("the removed replica is not started again: %v", err)
	}
	c.logs[3] = l
	c.net.Advance(time.Minute)
	if l := c.group.Leader(); l.Leader != 1 || l.Term != term {
		t.Errorf("the removed replica has disturbed the others: %v", l)
	}
	still()
	for range 2 {
		if err := c.net.Discard(3, theGroup, 3); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.net.Join(3, theGroup, 3, newRecorder(t)); !errors.Is(err, shard.ErrMembershipRule) {
		t.Errorf("a discarded replica is started: %v", err)
	}
	c.must(c.change(1, memlog.ChangeAdd, 1024, 3))
	c.join(3, 1024)
	c.wantOutcome(c.propose(1, "goes on"), shard.OutcomeApplied)
	c.until("its successor has all", func() bool { return c.machines[3].holds("goes on") })
}

// TestMembershipUnderFaults changes memberships at random while hosts fail. The network holds every step against what
// is committed; at the end all members agree.
func TestMembershipUnderFaults(t *testing.T) {
	changed, unknown := 0, 0
	for seed := range uint64(60) {
		c := newGroup(t, memlog.Config{Seed: seed, LateOutcome: 0.1, UnknownOnTermChange: 0.5, SnapshotEvery: 20,
			Path: memlog.Path{Delay: memlog.Between(0, 5*time.Millisecond), Loss: 0.02}}, 6, 1, 2, 3)
		rng := rand.New(rand.NewPCG(seed, 1))
		c.led(1)
		ids := uint64(1023)
		for turn := range 250 {
			h := shard.HostID(1 + rng.IntN(6))
			switch rng.IntN(8) {
			case 0:
				c.net.Isolate(h)
			case 1, 2:
				c.net.HealAll()
			case 3:
				c.net.PowerFail(h)
				c.net.Restart(h)
				c.reopen(h)
			case 4:
				if l := c.logs[c.group.Leader().Leader]; l != nil {
					_ = l.Propose(fmt.Append(nil, turn), func(shard.Outcome) {})
				}
			default:
				l := c.logs[c.group.Leader().Leader]
				if l == nil {
					break
				}
				ids++
				_ = l.ChangeMembership(c.anyChange(rng, ids), func(err error) {
					if err == nil {
						changed++
					} else if errors.Is(err, shard.ErrMembershipUnknown) {
						unknown++
					}
				})
			}
			c.net.Advance(time.Duration(rng.IntN(40)) * time.Millisecond)
			c.startMembers()
		}
		c.net.HealAll()
		c.until("all members agree", func() bool {
			c.startMembers()
			committed, replicas := c.group.Status()
			for _, r := range replicas {
				if r.Applied < committed || committed == 0 {
					return false
				}
			}
			return true
		})
	}
	t.Logf("%d changes, %d with an unknown outcome", changed, unknown)
	if changed < 1000 || unknown < 20 {
		t.Errorf("%d changes, %d with an unknown outcome, show too little", changed, unknown)
	}
}

// anyChange is a random, mostly possible change: at most five members, at least one voter.
func (c *cluster) anyChange(rng *rand.Rand, id uint64) memlog.Change {
	m := c.group.Membership()
	change := memlog.Change{Kind: memlog.ChangeKind(1 + rng.IntN(3)), For: m.Change}
	if rng.IntN(10) == 0 {
		change.For--
	}
	if change.Kind == memlog.ChangeAdd {
		change.Replica, change.Host = id, shard.HostID(1+rng.IntN(6))
		return change
	}
	change.Replica = m.Members[rng.IntN(len(m.Members))].Replica
	return change
}

// startMembers starts members that do not run, and discards non-members.
func (c *cluster) startMembers() {
	m := c.group.Membership()
	_, replicas := c.group.Status()
	for _, r := range replicas {
		if on := m.On(r.Host); on != nil && !r.Open {
			c.join(r.Host, r.Replica)
		}
	}
}

// reopen starts the replica of a restarted host, if any.
func (c *cluster) reopen(h shard.HostID) {
	if l := c.logs[h]; l != nil {
		_ = l.Close()
		delete(c.logs, h)
	}
}

// TestMembershipCallsWait: membership calls wait for their outcome, and end with their context.
func TestMembershipCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newGroup(t, memlog.Config{Seed: 8}, 4, 1, 2, 3)
		c.net.Start()
		synctest.Wait()
		log := c.logs[1]
		m, err := log.Membership(t.Context())
		if err != nil || len(m.Members) != 3 {
			t.Fatalf("%+v, %v", m, err)
		}
		if err := log.AddLearner(t.Context(), 1024, 4, shard.Incarnation{4}, m.Change); err != nil {
			t.Fatal(err)
		}
		if err := log.Promote(t.Context(), 1024, m.Change); !errors.Is(err, shard.ErrOtherMembership) {
			t.Errorf("a change for the membership before: %v", err)
		}
		m, err = c.logs[2].Membership(t.Context())
		if on := m.On(4); err != nil || on == nil || on.Incarnation != (shard.Incarnation{4}) || on.Voter {
			t.Fatalf("%+v, %v", m, err)
		}
		for _, p := range log.Progress() {
			if p.Replica == 1024 && p.SilentMillis > 100 {
				t.Errorf("it was added now, and is silent for %d ms", p.SilentMillis)
			}
		}
		time.Sleep(3 * time.Second)
		for _, p := range log.Progress() {
			if silent := p.Replica == 1024; silent != (p.SilentMillis >= 3000) {
				t.Errorf("replica %d is silent for %d ms", p.Replica, p.SilentMillis)
			}
		}
		c.net.StickDisk(2)
		c.net.StickDisk(3)
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := log.Remove(within, 1024, m.Change); !errors.Is(err, shard.ErrMembershipUnknown) {
			t.Errorf("a change that is not committed in time: %v", err)
		}
	})
}
