package raftlog

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// besideShard is another shard of the survivor.
const besideShard = 9

// lostShard is a shard that has lost two of its three hosts.
type lostShard struct {
	leader, survivor, third *member
	// acknowledged are the batches. The survivor does not know that the last batch is committed.
	acknowledged []string
	refused      [4]atomic.Int64 // by host: messages to a missing replica

	mu   sync.Mutex
	held map[[2]shard.HostID]*gate // guarded by mu; by sender and receiver
}

// between returns the gate for messages from one host to another.
func (s *lostShard) between(from, to *member) *gate {
	return s.way(from.config.Host, to.config.Host)
}

func (s *lostShard) way(from, to shard.HostID) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]shard.HostID{from, to}
	if s.held[key] == nil {
		s.held[key] = new(gate)
	}
	return s.held[key]
}

// gate lets messages pass unless it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil while the gate is open, closed by opening; guarded by mu
}

func (g *gate) Store(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.shut == nil:
		g.shut = make(chan struct{})
	case !shut && g.shut != nil:
		close(g.shut)
		g.shut = nil
	}
}

// wait returns a channel closed when the gate opens, or nil while it is open.
func (g *gate) wait() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// wire is a connection to another host.
type wire struct {
	net.Conn
	held   *gate
	once   sync.Once
	closed chan struct{}
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	for shut := w.held.wait(); shut != nil; shut = w.held.wait() {
		select {
		case <-shut:
		case <-w.closed:
			return 0, net.ErrClosed
		}
	}
	return w.Conn.Write(b)
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// wired gives a host connections that can be held back.
func (s *lostShard) wired(m *member) {
	book, from := m.network.Hosts, m.config.Host
	m.network.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		to := book[slices.IndexFunc(book, func(h transport.Host) bool { return h.Address == address })]
		return &wire{Conn: conn, held: s.way(from, to.ID), closed: make(chan struct{})}, nil
	}
	m.network.Refused = func(reason transport.Refusal) {
		if reason == transport.RefusedReplica {
			s.refused[from].Add(1)
		}
	}
}

// loseMajority makes three hosts acknowledge batches, and permanently closes two of them. The last batch has reached
// the survivor, but not its commit.
func loseMajority(t *testing.T) *lostShard {
	t.Helper()
	s := &lostShard{held: make(map[[2]shard.HostID]*gate)}
	all := newCluster(t, 3, func(c *Config) {
		c.ElectionTicks, c.SnapshotBytes, c.KeepBytes = 50, 8*BatchBytes, 2*BatchBytes
	})
	for _, m := range all {
		s.wired(m)
	}
	openAll(all)
	s.leader = leaderOf(t, all)
	rest := others(all, s.leader)
	s.acknowledged = s.leader.mustPropose(0, 30)
	rest[0].machine.awaitBatches(t, s.acknowledged)
	rest[1].close()
	s.survivor, s.third = rest[0], rest[1]
	s.acknowledgeUnheard(t)
	s.leader.close()
	s.between(s.leader, s.survivor).Store(false)
	if at, err := s.survivor.host.Remnant(testShard); err != nil || at.Index <= s.survivor.commit() {
		t.Fatalf("the survivor has %v, %v, and knows %d as committed", at, err, s.survivor.commit())
	}
	return s
}

// acknowledgeUnheard has a batch acknowledged, and keeps the news from the survivor.
func (s *lostShard) acknowledgeUnheard(t *testing.T) {
	t.Helper()
	toLeader := s.between(s.survivor, s.leader)
	toLeader.Store(true)
	outcome := make(chan shard.Outcome, 1)
	last := fmt.Sprint("batch ", len(s.acknowledged))
	if err := s.leader.log.Propose([]byte(last), func(o shard.Outcome) { outcome <- o }); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last batch at the survivor", func() bool {
		at, err := s.survivor.host.Remnant(testShard)
		led, failed := s.leader.host.Remnant(testShard)
		return err == nil && failed == nil && at == led && at.Index > s.survivor.commit()
	})
	s.between(s.leader, s.survivor).Store(true)
	toLeader.Store(false)
	if o := <-outcome; o != shard.OutcomeApplied {
		t.Fatal(o)
	}
	s.acknowledged = append(s.acknowledged, last)
}

// commit is the last entry known to the host as committed.
func (m *member) commit() uint64 {
	m.t.Helper()
	replica, _ := m.host.Replica(testShard)
	state, err := m.host.store.Load().ReadRaftState(testShard, replica, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	return state.State.Commit
}

func (m *member) salvage() *recorder {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	far, err := m.host.Remnant(testShard)
	machine := newRecorder()
	if err == nil {
		m.machine.closed.Store(true)
		var r Remnant
		if r, err = m.host.Salvage(ctx, testShard, machine); err == nil && r != far {
			m.t.Errorf("salvaged %+v of %+v", r, far)
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return machine
}

// regroup begins a new group with a state, and starts its replica.
func (m *member) regroup(replica, group uint64, state shard.Saver) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	if err := m.host.Regroup(ctx, testShard, replica, group, state); err != nil {
		m.t.Fatal(err)
	}
	m.start(newRecorder())
	leaderOf(m.t, []*member{m})
	if term := m.log.Leadership().Term; term <= group<<32 || term>>32 != group {
		m.t.Errorf("group %d has the term %d", group, term)
	}
}

// TestAShardThatHasLostItsMajorityIsMadeAnewAmongOthers: with every acknowledged batch, while another shard of the
// survivor continues; and other hosts join it.
func TestAShardThatHasLostItsMajorityIsMadeAnewAmongOthers(t *testing.T) {
	lost := loseMajority(t)
	survivor, want := lost.survivor, lost.acknowledged
	beside := newRecorder()
	log, err := survivor.host.Start(besideShard, beside, survivor.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	beside.awaitLeader(t, anyLeader)
	stop := make(chan struct{})
	var running sync.WaitGroup
	var done atomic.Int64
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if o := proposeTo(log, fmt.Sprint(done.Load())); o != shard.OutcomeApplied {
				t.Errorf("the other shard: %v", o)
				return
			}
			done.Add(1)
		}
	})
	machine := survivor.salvage()
	if got := machine.applied(); !slices.Equal(got, want) {
		t.Fatalf("salvaged %q, want %q", got, want)
	}
	before := done.Load()
	survivor.regroup(transport.FirstJoined, 1, machine)
	after := done.Load()
	close(stop)
	running.Wait()
	if before == 0 || after == before {
		t.Errorf("the other shard had %d batches before Regroup, and %d after", before, after)
	}
	want = append(want, survivor.mustPropose(len(want), len(want)+20)...)
	survivor.machine.awaitBatches(t, want)

	for i, m := range []*member{lost.leader, lost.third} {
		m.openHost()
		m.joinGroup(survivor, transport.FirstJoined+1+uint64(i), want)
	}
	survivor.close()
	for range 3 {
		batch := fmt.Sprint("batch ", len(want))
		outcome := shard.OutcomeDropped
		for outcome == shard.OutcomeDropped { // the found leader may have lost an election since
			outcome = leaderOf(t, []*member{lost.leader, lost.third}).propose(batch)
		}
		if outcome != shard.OutcomeApplied {
			t.Fatalf("%s: %v", batch, outcome)
		}
		want = append(want, batch)
	}
	lost.third.machine.awaitBatches(t, want)
	survivor.open()
	survivor.machine.awaitBatches(t, want)
}

// joinGroup makes an open host give up its replica of an old group, and join a later group as a voter.
func (m *member) joinGroup(leader *member, replica uint64, want []string) {
	m.t.Helper()
	t := m.t.(*testing.T)
	m.machine.closed.Store(true)
	if err := m.host.Discard(t.Context(), testShard, uint64(m.config.Host)); err != nil {
		t.Fatal(err)
	}
	addLearner(t, []*member{leader}, m, replica)
	m.joinAs(replica)
	m.machine.awaitBatches(t, want)
	promote(t, []*member{leader}, replica)
}
