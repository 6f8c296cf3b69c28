package raftlog

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

const testShard = 7

// member is a test cluster's host, closed or open.
type member struct {
	t       testing.TB
	config  Config
	network transport.Config // transport config, none without an address
	address string
	peers   *transport.Transport
	host    *Host
	log     shard.Log
	machine *recorder
}

// newCluster returns a cluster of closed hosts on free loopback ports.
func newCluster(t testing.TB, count int, change func(*Config)) []*member {
	t.Helper()
	initialMembers, book := initialMembersOf(count), bookOf(t, count)
	var members []*member
	for _, id := range slices.Sorted(maps.Keys(initialMembers)) {
		config := Config{
			Host: id, Incarnation: initialMembers[id], DataDir: filepath.Join(t.TempDir(), fmt.Sprint("host", id)),
			InitialMembers: initialMembers, Deployment: 42, Logger: testLogger(t),
			// A machine busy with other tests must not look failed.
			Tick: 20 * time.Millisecond, ElectionTicks: 25, ProposalTimeout: patience, BarrierTimeout: patience / 3,
		}
		if count == 1 {
			config.ElectionTicks = 5 // no other host can depose it
		}
		if change != nil {
			change(&config)
		}
		m := &member{t: t, config: config}
		if count > 1 {
			m.connect(book)
		}
		t.Cleanup(m.close)
		members = append(members, m)
	}
	return members
}

// incarnationOf is the incarnation for a host whose directory was created once.
func incarnationOf(id shard.HostID) (i hosts.Incarnation) {
	i[0], i[len(i)-1] = byte(id), 0xff
	return i
}

func initialMembersOf(count int) map[shard.HostID]hosts.Incarnation {
	initialMembers := make(map[shard.HostID]hosts.Incarnation, count)
	for i := range count {
		id := shard.HostID(i + 1)
		initialMembers[id] = incarnationOf(id)
	}
	return initialMembers
}

// nameOf is a host's name.
func nameOf(id shard.HostID) string { return fmt.Sprint("host-", id) }

// bookOf is an address book with free ports.
func bookOf(t testing.TB, count int) []transport.Host {
	var book []transport.Host
	for id, incarnation := range initialMembersOf(count) {
		book = append(book, transport.Host{ID: id, Name: nameOf(id), Incarnation: incarnation, Address: freeAddress(t)})
	}
	return book
}

// connect gives a newly opened host a transport, at its address in the book.
func (m *member) connect(book []transport.Host) {
	c := &m.config
	m.network = transport.Config{
		Identity: transport.Identity{Host: c.Host, Incarnation: c.Incarnation, Deployment: c.Deployment},
		Hosts:    book, Logger: c.Logger,
	}
	for _, h := range book {
		if h.ID == c.Host {
			m.address = h.Address
		}
	}
}

// listen opens the transport.
func (m *member) listen() {
	m.t.Helper()
	if m.address == "" {
		return
	}
	listener, err := net.Listen("tcp", m.address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.network.Listener = listener
	m.peers = transport.Open(m.network)
	m.config.Transport = m.peers
}

func testLogger(t testing.TB) *slog.Logger {
	level := slog.LevelError + 1
	if os.Getenv("RAFTLOG_TEST_LOG") != "" {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// freeAddress reserves an address for a test's sequential listeners.
func freeAddress(t testing.TB) string {
	t.Helper()
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ports.Close)
	return ports.Addresses[0]
}

func openAll(members []*member) {
	for _, m := range members {
		m.t.Helper()
		m.open()
	}
}

func (m *member) open() { m.openWith(newRecorder()) }

func (m *member) openWith(machine *recorder) {
	m.t.Helper()
	m.openHost()
	m.start(machine)
}

// openHost opens a host without starting any replica.
func (m *member) openHost() {
	m.t.Helper()
	m.listen()
	host, err := Open(m.config)
	if err != nil {
		m.t.Fatal(err)
	}
	m.host, m.machine = host, newRecorder()
}

// withoutTransport is the config for a host that must not open.
func withoutTransport(c Config) Config {
	c.Transport = nil
	return c
}

func (m *member) start(machine *recorder) {
	m.t.Helper()
	log, err := m.host.Start(testShard, machine)
	if err != nil {
		m.t.Fatal(err)
	}
	m.log, m.machine = log, machine
}

func (m *member) close() {
	if m.host == nil {
		return
	}
	m.host.Close()
	m.host = nil
	if m.peers != nil {
		m.peers.Close()
	}
	m.machine.closed.Store(true)
	m.machine.check(m.t)
}

// leaderOf waits until an open member leads, confirmed by a barrier.
func leaderOf(t testing.TB, members []*member) *member {
	t.Helper()
	open := slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m.host == nil })
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		var leader *member
		open[0].machine.awaitLeader(t, func(l shard.Leadership) bool {
			i := slices.IndexFunc(open, func(m *member) bool { return m.config.Host == l.Leader })
			if i >= 0 {
				leader = open[i]
			}
			return i >= 0
		})
		if leader.log.Leadership().Leader == leader.config.Host && leader.barrier() == nil {
			return leader
		}
	}
	t.Fatal("no leader")
	return nil
}

func (m *member) barrier() error {
	m.t.Helper()
	answer := make(chan error, 1)
	if err := m.log.Barrier(func(err error) { answer <- err }); err != nil {
		return err
	}
	return <-answer
}

var errStopped = errors.New("the host has stopped")

// awaitBarrier waits until a barrier succeeds, or the host has stopped.
func (m *member) awaitBarrier(stopped <-chan struct{}) error {
	for deadline := time.Now().Add(patience); m.barrier() != nil; {
		select {
		case <-stopped:
			return errStopped
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no barrier in %v", patience)
		}
	}
	return nil
}

func (m *member) propose(batch string) shard.Outcome {
	m.t.Helper()
	outcome, err := offer(m.log, batch)
	if err != nil {
		m.t.Fatalf("propose on host %d: %v", m.config.Host, err)
	}
	return outcome
}

// mustPropose proposes and returns numbered batches.
func (m *member) mustPropose(from, to int) []string {
	m.t.Helper()
	var batches []string
	for i := from; i < to; i++ {
		batch := fmt.Sprint("batch ", i)
		if o := m.propose(batch); o != shard.OutcomeApplied {
			m.t.Fatalf("%s on host %d: %v", batch, m.config.Host, o)
		}
		batches = append(batches, batch)
	}
	return batches
}

func others(members []*member, but *member) []*member {
	return slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m == but })
}

// transfer transfers leadership through one host, and waits until all hosts know the new leader. Several tries may be
// needed: the target declines while it has committed batches to apply.
func transfer(t testing.TB, all []*member, by, to *member) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err := by.log.Transfer(to.config.Host); err != nil && !errors.Is(err, shard.ErrLogBusy) {
			t.Fatal(err)
		}
		leads := func() bool { return to.machine.lastLeader().Leader == to.config.Host }
		if to.machine.awaitFor(2*to.config.withDefaults().election(), leads) {
			for _, m := range all {
				m.machine.awaitLeader(t, func(l shard.Leadership) bool { return l.Leader == to.config.Host })
			}
			return
		}
	}
	t.Fatalf("host %d does not take over", to.config.Host)
}

// snapshotDirs lists a host's snapshots on disk.
func snapshotDirs(t testing.TB, m *member) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(m.config.DataDir, "*", "*", "snapshot-part-*",
		fmt.Sprintf("snapshot-%d-*", testShard), "snapshot-*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}
