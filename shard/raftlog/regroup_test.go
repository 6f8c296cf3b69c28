package raftlog

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// besideShard is another shard of the survivor.
const besideShard = 9

// wires are the connections between hosts. What one host sends to another can be held back.
type wires struct {
	mu   sync.Mutex
	held map[[2]shard.HostID]*atomic.Bool
}

func (w *wires) between(from, to shard.HostID) *atomic.Bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := [2]shard.HostID{from, to}
	if w.held[key] == nil {
		w.held[key] = new(atomic.Bool)
	}
	return w.held[key]
}

// wire is a connection to another host.
type wire struct {
	net.Conn
	held   *atomic.Bool
	closed atomic.Bool
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	for w.held.Load() {
		if w.closed.Load() {
			return 0, net.ErrClosed
		}
		time.Sleep(time.Millisecond)
	}
	return w.Conn.Write(b)
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.closed.Store(true)
	return w.Conn.Close()
}

// openWired opens three hosts with a shard, and returns a leader and its followers.
func openWired(t *testing.T) (w *wires, leader, survivor, third *member) {
	t.Helper()
	w = &wires{held: make(map[[2]shard.HostID]*atomic.Bool)}
	all := newCluster(t, 3, func(c *Config) { c.ElectionTicks, c.SnapshotEntries, c.KeepEntries = 50, 8, 2 })
	for _, m := range all {
		book, from := m.network.Hosts, m.config.Host
		m.network.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(book, func(h transport.Host) bool { return h.Address == address })
			return &wire{Conn: conn, held: w.between(from, book[i].ID)}, nil
		}
	}
	openAll(all)
	leader = leaderOf(t, all)
	rest := others(all, leader)
	return w, leader, rest[0], rest[1]
}

// loseMajority has three hosts acknowledge batches, and closes two of them for good. The last batch has reached the
// survivor, which has not heard that the batch is committed.
func loseMajority(t *testing.T) (leader, survivor, third *member, acknowledged []string) {
	t.Helper()
	w, leader, survivor, third := openWired(t)
	acknowledged = leader.mustPropose(0, 30)
	survivor.machine.awaitBatches(t, acknowledged)
	third.close()

	toLeader := w.between(survivor.config.Host, leader.config.Host)
	toLeader.Store(true)
	outcome := make(chan shard.Outcome, 1)
	last := fmt.Sprint("batch ", len(acknowledged))
	if err := leader.log.Propose([]byte(last), func(o shard.Outcome) { outcome <- o }); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last batch at the survivor", func() bool {
		at, err := survivor.host.Remnant(testShard)
		led, failed := leader.host.Remnant(testShard)
		return err == nil && failed == nil && at == led && at.Index > survivor.commit()
	})
	toSurvivor := w.between(leader.config.Host, survivor.config.Host)
	toSurvivor.Store(true)
	toLeader.Store(false)
	if o := <-outcome; o != shard.OutcomeApplied {
		t.Fatal(o)
	}
	leader.close()
	toSurvivor.Store(false)
	if at, err := survivor.host.Remnant(testShard); err != nil || at.Index <= survivor.commit() {
		t.Fatalf("the survivor has %v, %v, and knows %d as committed", at, err, survivor.commit())
	}
	return leader, survivor, third, append(acknowledged, last)
}

// commit is the last entry that the host knows as committed.
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

// TestAShardThatHasLostItsMajorityIsMadeAnewAmongOthers: with all that was acknowledged, while another shard of the
// survivor goes on; and others join it.
func TestAShardThatHasLostItsMajorityIsMadeAnewAmongOthers(t *testing.T) {
	leader, survivor, third, want := loseMajority(t)
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

	for i, m := range []*member{leader, third} {
		replica := transport.FirstJoined + 1 + uint64(i)
		m.openHost()
		if err := m.host.Discard(t.Context(), testShard, uint64(m.config.Host)); err != nil {
			t.Fatal(err)
		}
		addLearner(t, []*member{survivor}, m, replica)
		m.joinAs(replica)
		m.machine.awaitBatches(t, want)
		promote(t, []*member{survivor}, replica)
	}
	survivor.close()
	want = append(want, leaderOf(t, []*member{leader, third}).mustPropose(len(want), len(want)+3)...)
	third.machine.awaitBatches(t, want)
	survivor.open()
	survivor.machine.awaitBatches(t, want)
}
