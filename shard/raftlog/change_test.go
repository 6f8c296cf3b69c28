package raftlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// newComers returns closed hosts: the first few are initial members; the others join.
func newComers(t *testing.T, initialMembers, count int, change func(*Config)) []*member {
	t.Helper()
	return newCluster(t, count, func(c *Config) {
		c.InitialMembers = initialMembersOf(initialMembers)
		if change != nil {
			change(c)
		}
	})
}

// joinAs opens a host and starts a replica added by the leader.
func (m *member) joinAs(replica uint64) {
	m.t.Helper()
	if m.host == nil {
		m.openHost()
	}
	m.machine = newRecorder()
	log, err := m.host.Join(testShard, replica, m.machine)
	if err != nil {
		m.t.Fatal(err)
	}
	m.log = log
}

// changeMembers makes a membership change at the current leader, with retries. The membership shows whether a change
// with an unknown outcome was made.
func changeMembers(t *testing.T, all []*member, what string, is func(*shard.Membership) bool,
	change func(l *Log, number uint64) error) {
	t.Helper()
	eventually(t, what, func() bool {
		leader := leaderOf(t, all)
		l := leader.log.(*Log)
		m, err := l.Membership(t.Context())
		if err != nil || is(&m) {
			return err == nil
		}
		err = change(l, m.Change)
		if errors.Is(err, shard.ErrMembershipRule) {
			t.Fatal(err)
		}
		return false
	})
}

func addLearner(t *testing.T, all []*member, to *member, replica uint64) {
	t.Helper()
	changeMembers(t, all, fmt.Sprint("learner ", replica),
		func(m *shard.Membership) bool { return m.Member(replica) != nil },
		func(l *Log, number uint64) error {
			return l.AddLearner(t.Context(), replica, to.config.Host, to.config.Incarnation, number)
		})
}

func promote(t *testing.T, all []*member, replica uint64) {
	t.Helper()
	changeMembers(t, all, fmt.Sprint("voter ", replica),
		func(m *shard.Membership) bool { return m.Member(replica).Voter },
		func(l *Log, number uint64) error { return l.Promote(t.Context(), replica, number) })
}

// load proposes numbered batches at the current leader until ended.
type load struct {
	t       *testing.T
	all     []*member
	stop    chan struct{}
	running sync.WaitGroup
	// applied are the certainly applied batches, in order.
	mu      sync.Mutex
	applied []string // guarded by mu
}

func startLoad(t *testing.T, all []*member) *load {
	l := &load{t: t, all: all, stop: make(chan struct{})}
	l.running.Go(l.run)
	return l
}

func (l *load) run() {
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		l.propose(fmt.Sprint("load ", i))
	}
}

// propose proposes a batch once, at the first host that accepts it.
func (l *load) propose(batch string) {
	for _, m := range l.all {
		if m.log.Leadership().Leader != m.config.Host {
			continue
		}
		outcome := make(chan shard.Outcome, 1)
		if m.log.Propose([]byte(batch), func(o shard.Outcome) { outcome <- o }) != nil {
			continue
		}
		switch <-outcome {
		case shard.OutcomeApplied:
			l.mu.Lock()
			l.applied = append(l.applied, batch)
			l.mu.Unlock()
			return
		case shard.OutcomeUnknown:
			return
		}
	}
	time.Sleep(time.Millisecond) // no host leads
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.applied)
}

// awaitMore waits until more batches are applied.
func (l *load) awaitMore() {
	l.t.Helper()
	from := l.count()
	eventually(l.t, "more batches", func() bool { return l.count() >= from+20 })
}

// end ends the load, and checks on a host that each applied batch is present exactly once.
func (l *load) end(on ...*member) {
	l.t.Helper()
	close(l.stop)
	l.running.Wait()
	for _, m := range on {
		eventually(l.t, "all that was applied", func() bool {
			have := m.machine.applied()
			return len(have) > 0 && len(l.applied) > 0 && slices.Contains(have, l.applied[len(l.applied)-1])
		})
		have := m.machine.applied()
		seen := make(map[string]int)
		for _, batch := range have {
			seen[batch]++
		}
		for _, batch := range l.applied {
			if seen[batch] != 1 {
				l.t.Errorf("host %d has %q %d times", m.config.Host, batch, seen[batch])
			}
		}
		for batch, times := range seen {
			if times != 1 {
				l.t.Errorf("host %d has %q %d times", m.config.Host, batch, times)
			}
		}
	}
}

// TestAShardMovesToOtherHostsUnderLoad grows a shard from one voter to three, and moves it to three other hosts, with
// replica ids unrelated to host ids.
func TestAShardMovesToOtherHostsUnderLoad(t *testing.T) {
	all := newComers(t, 1, 5, fewEntries)
	all[0].open()
	leaderOf(t, all[:1])
	open := []*member{all[0]}
	all[0].mustPropose(0, 30)
	for i, m := range all[1:] {
		replica := transport.FirstJoined + 10*uint64(i+1)
		addLearner(t, open, m, replica)
		m.joinAs(replica)
		open = append(open, m)
	}
	l := startLoad(t, all)
	defer l.end(all[2], all[3], all[4])
	learner := all[2]
	eventually(t, "a learner that serves", func() bool { return learner.barrier() == nil })
	for _, replica := range []uint64{1034, 1044} { // of hosts 2 and 3
		promote(t, open, replica)
		l.awaitMore()
	}
	for _, swap := range []struct{ add, remove uint64 }{{1054, 1}, {1064, 1034}} {
		promote(t, open, swap.add)
		l.awaitMore()
		removeReplica(t, open, swap.remove)
		open = open[1:] // it is inactive from now on
		l.awaitMore()
	}
	m, err := leaderOf(t, all[2:]).log.(*Log).Membership(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, replica := range []uint64{1044, 1054, 1064} {
		p := m.Member(replica)
		if p == nil || !p.Voter || p.Host != all[i+2].config.Host || p.Incarnation != all[i+2].config.Incarnation {
			t.Errorf("replica %d is %+v in %+v", replica, p, m)
		}
	}
	if len(m.Members) != 3 {
		t.Errorf("the members are %+v", m.Members)
	}
	for _, gone := range []struct {
		m       *member
		replica uint64
	}{{all[0], 1}, {all[1], 1034}} {
		for range 2 { // repeatable
			if err := gone.m.host.Discard(t.Context(), testShard, gone.replica); err != nil {
				t.Error(err)
			}
		}
		if _, err := gone.m.host.Start(testShard, newRecorder()); !errors.Is(err, shard.ErrNotMember) {
			t.Errorf("host %d starts a replica that it has discarded: %v", gone.m.config.Host, err)
		}
	}
}

// removeReplica removes a replica. If it leads, leadership moves first.
func removeReplica(t *testing.T, all []*member, replica uint64) {
	t.Helper()
	leader := leaderOf(t, all)
	if own, _ := leader.host.Replica(testShard); own == replica {
		l := leader.log.(*Log)
		m, err := l.Membership(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Remove(t.Context(), replica, m.Change); !errors.Is(err, shard.ErrMembershipRule) {
			t.Errorf("a leader removes itself: %v", err)
		}
		i := slices.IndexFunc(m.Members, func(m shard.Member) bool { return m.Voter && m.Replica != replica })
		to := slices.IndexFunc(all, func(o *member) bool { return o.config.Host == m.Members[i].Host })
		handOver(t, leader, all[to])
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(m *member) bool {
		own, _ := m.host.Replica(testShard)
		return own == replica
	})
	changeMembers(t, rest, fmt.Sprint("without ", replica),
		func(m *shard.Membership) bool { return m.Member(replica) == nil },
		func(l *Log, number uint64) error { return l.Remove(t.Context(), replica, number) })
}

// handOver asks a leader for a transfer until another host leads.
func handOver(t *testing.T, leader, to *member) {
	t.Helper()
	eventually(t, "another leader", func() bool {
		if leader.log.Leadership().Leader == leader.config.Host {
			_ = leader.log.Transfer(to.config.Host)
		}
		return to.log.Leadership().Leader == to.config.Host
	})
}

func TestAChangeOfMembersSaysWhyItIsNotMade(t *testing.T) {
	all := newComers(t, 2, 3, nil)
	openAll(all[:2])
	leader := leaderOf(t, all[:2])
	follower := others(all[:2], leader)[0]
	l, third := leader.log.(*Log), all[2].config
	own, _ := leader.host.Replica(testShard)
	other, _ := follower.host.Replica(testShard)
	addLearner(t, all[:2], all[2], 1030)
	m, err := l.Membership(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add := func(l *Log, replica uint64, to Config, change uint64) error {
		return l.AddLearner(t.Context(), replica, to.Host, to.Incarnation, change)
	}
	for name, test := range map[string]struct {
		err, want error
	}{
		"another membership":          {l.Promote(t.Context(), 1030, m.Change-1), shard.ErrOtherMembership},
		"a host that does not lead":   {follower.log.(*Log).Promote(t.Context(), 1030, m.Change), shard.ErrNotLeader},
		"a host with a replica":       {add(l, 1031, third, m.Change), shard.ErrMembershipRule},
		"an id that is a member's":    {add(l, 1030, third, m.Change), shard.ErrMembershipRule},
		"the id of a bootstrap":       {add(l, 9, third, m.Change), shard.ErrMembershipRule},
		"a voter that is promoted":    {l.Promote(t.Context(), other, m.Change), shard.ErrMembershipRule},
		"nobody is promoted":          {l.Promote(t.Context(), 1099, m.Change), shard.ErrMembershipRule},
		"the leader is removed":       {l.Remove(t.Context(), own, m.Change), shard.ErrMembershipRule},
		"who is no member is removed": {l.Remove(t.Context(), 1099, m.Change), shard.ErrMembershipRule},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: %v, want %v", name, test.err, test.want)
		}
	}
	l.changing.Lock()
	if err := l.Promote(t.Context(), 1030, m.Change); !errors.Is(err, shard.ErrLogBusy) {
		t.Errorf("while another change is under way: %v", err)
	}
	l.changing.Unlock()
	removeReplica(t, []*member{leader, follower}, 1030)
	if m, err = l.Membership(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := add(l, 1030, third, m.Change); !errors.Is(err, shard.ErrMembershipRule) {
		t.Errorf("an id that was removed is given again: %v", err)
	}
	follower.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = l.AddLearner(ctx, 1032, third.Host, third.Incarnation, m.Change)
	if err == nil || errors.Is(err, shard.ErrMembershipRule) {
		t.Errorf("without a majority: %v", err)
	}
	follower.open()
}

// TestAChangeOfMembersIsMadeOnTheExpectedMembershipOnly: a change with an older number does not reach the engine. If
// another change is made after the number was checked, the engine refuses.
func TestAChangeOfMembersIsMadeOnTheExpectedMembershipOnly(t *testing.T) {
	all := newComers(t, 1, 3, nil)
	all[0].open()
	l := leaderOf(t, all[:1]).log.(*Log)
	target := func(m *member) transport.Target {
		return transport.Target{Host: m.config.Host, Incarnation: m.config.Incarnation}
	}
	addLearner(t, all[:1], all[1], 1030)
	number := func() uint64 {
		m, err := l.Membership(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m.Change
	}
	for i, c := range []memberChange{
		l.addition(1050, target(all[2])), l.promotion(1030), l.removal(1030),
	} {
		older := c
		older.request = func(uint64, time.Duration) (*dragonboat.RequestState, error) {
			t.Errorf("%s: an older number reaches the engine", c.name)
			return nil, errors.New("not asked")
		}
		if err := l.change(t.Context(), number()-1, older); !errors.Is(err, shard.ErrOtherMembership) {
			t.Errorf("%s on an older membership: %v", c.name, err)
		}
		overtaken, at := c, number()
		overtaken.allowed = func(m *shard.Membership, removed map[uint64]struct{}) error {
			host := transport.Target{Host: shard.HostID(60 + i), Incarnation: incarnationOf(9)}
			other := l.addition(1060+uint64(i), host)
			request, err := other.request(at, l.host.config.ProposalTimeout)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.awaitChange(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			return c.allowed(m, removed)
		}
		if err := l.change(t.Context(), at, overtaken); !errors.Is(err, shard.ErrOtherMembership) {
			t.Errorf("%s after another change: %v", c.name, err)
		}
	}
}

// TestAHostIsFoundAtAnotherAddressUnderLoad: its transport is opened at a new address, and the others are notified.
func TestAHostIsFoundAtAnotherAddressUnderLoad(t *testing.T) {
	all, leader := openThree(t, nil)
	moved := others(all, leader)[0]
	l := startLoad(t, []*member{leader, others(all, leader)[1]})
	l.awaitMore()
	moved.close()
	book := slices.Clone(moved.network.Hosts)
	for i := range book {
		if book[i].ID == moved.config.Host {
			book[i].Address = freeAddress(t)
			moved.address = book[i].Address
		}
	}
	l.awaitMore()
	moved.network.Hosts = book
	moved.open()
	for _, m := range others(all, moved) {
		m.peers.SetHosts(book)
	}
	l.awaitMore()
	l.end(moved)
}

func TestAReplicaIsJoinedOnce(t *testing.T) {
	one := newComers(t, 1, 2, nil)[1]
	one.openHost()
	if _, err := one.host.Start(testShard, newRecorder()); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("a host that has not joined: %v", err)
	}
	if _, err := one.host.Join(testShard, 7, newRecorder()); !errors.Is(err, ErrOtherReplica) {
		t.Errorf("with the id of a bootstrap: %v", err)
	}
	one.joinAs(1030)
	if err := one.log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := one.host.Join(testShard, 1031, newRecorder()); !errors.Is(err, ErrOtherReplica) {
		t.Errorf("with another id: %v", err)
	}
	one.joinAs(1030)
	if err := one.host.Discard(t.Context(), testShard, 1030); err != nil {
		t.Fatal(err)
	}
	if _, err := one.host.Join(testShard, 1030, newRecorder()); !errors.Is(err, ErrOtherReplica) {
		t.Errorf("with one that was discarded: %v", err)
	}
	one.joinAs(1031)
	one.close()
	one.open() // starts the joined replica
	if replica, joined := one.host.Replica(testShard); replica != 1031 || !joined {
		t.Errorf("it has replica %d, joined %v", replica, joined)
	}
	one.close()
	if err := os.Remove(filepath.Join(one.config.DataDir, replicasFile)); err != nil {
		t.Fatal(err)
	}
	refused(t, withoutTransport(one.config), ErrDamaged)
}

// TestAShardThatShrankToOneVoterGrowsAgain removes the second-to-last voter while both hosts read, and brings the
// removed host back. While a read waits for the removed host, the leader sends learners no heartbeats, and would never
// resend messages lost on the way to a learner.
func TestAShardThatShrankToOneVoterGrowsAgain(t *testing.T) {
	all := newComers(t, 1, 2, nil)
	all[0].open()
	leader := leaderOf(t, all[:1])
	leader.mustPropose(0, 10)
	for round := range uint64(5) {
		replica := transport.FirstJoined + round
		addLearner(t, all[:1], all[1], replica)
		time.Sleep(50 * time.Millisecond) // the leader's first messages, before the learner exists, are lost
		all[1].joinAs(replica)
		eventually(t, "a learner that serves", func() bool { return all[1].barrier() == nil })
		promote(t, all[:1], replica)
		reading, stop := sync.WaitGroup{}, make(chan struct{})
		for _, m := range all {
			for range 8 {
				reading.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							_ = m.barrier()
						}
					}
				})
			}
		}
		removeReplica(t, all, replica)
		if err := leader.barrier(); err != nil {
			t.Error(err)
		}
		close(stop)
		if err := all[1].host.Discard(t.Context(), testShard, replica); err != nil { // ends its barriers
			t.Fatal(err)
		}
		reading.Wait()
	}
}
