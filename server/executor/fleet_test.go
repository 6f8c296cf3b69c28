package executor

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/test/memlog"
)

// fleet is the tests' hosts, in a bubble of virtual time: in-memory logs with real membership. The meta shard's log
// feeds each host's real records and real plan.
type fleet struct {
	*testing.T
	net    *memlog.Network
	shards []hosts.ShardID
	began  time.Time
	end    context.CancelFunc
	ctx    context.Context
	done   sync.WaitGroup

	mu       sync.Mutex
	hosts    map[shard.HostID]*machine
	commands []*metaCommand
	broken   []string
	// gate is called before and after each governor action and may kill hosts. Nil lets all pass.
	gate    func(at *machine, act string, over bool)
	changes []string // membership changes, in order
	longest uint64   // the longest timeout awaited by the last rebuilt shard
	// progress changes the leaders' view of replicas; nil for no change.
	progress func(hosts.ShardID, *shard.Progress)
	warned   warnings
	slots    slotLogs
	bug      bug
	failed   func(format string, args ...any) // Fatalf, except when looking for a planted bug
}

// seen returns the modifications of the leaders' view of replicas: a planted bug, and a function.
func (f *fleet) seen() (planted bug, progress func(hosts.ShardID, *shard.Progress)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bug, f.progress
}

const maxFleet = 9

// newFleet starts initial members with two data shards. Call it in a bubble.
func newFleet(t *testing.T, initialMembers ...string) *fleet {
	t.Helper()
	return newFleetOf(t, 2, maxFleet, initialMembers...)
}

// newFleetOf starts the initial members of a fleet with the given number of data shards and maximum number of hosts.
func newFleetOf(t *testing.T, shards, most int, initialMembers ...string) *fleet {
	t.Helper()
	cfg := memlog.Config{Seed: 1, CheckQuorum: true, Path: memlog.Path{Delay: memlog.Between(0, 2*time.Millisecond)}}
	for h := range most {
		cfg.Hosts = append(cfg.Hosts, shard.HostID(h+1))
	}
	n, err := memlog.NewNetwork(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{T: t, net: n, began: time.Now(), hosts: make(map[shard.HostID]*machine)}
	for id := range shards + 1 {
		f.shards = append(f.shards, hosts.ShardID(id))
	}
	f.failed = f.Fatalf
	f.ctx, f.end = context.WithCancel(context.Background())
	n.Start()
	var ids []shard.HostID
	var bootstrapped []hosts.InitialMember
	for i, name := range initialMembers {
		m := f.machine(name)
		m.id = shard.HostID(i + 1)
		ids = append(ids, m.id)
		bootstrapped = append(bootstrapped, hosts.InitialMember{ID: m.id, Name: name, Incarnation: m.incarnation,
			Addresses: m.addresses(), Level: level.Newest})
		f.hosts[m.id] = m
	}
	for _, id := range f.shards {
		if _, err := n.NewGroup(memlog.GroupID(id), ids...); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		for _, s := range f.shards {
			f.hosts[id].disk[s] = uint64(id)
		}
		f.hosts[id].start()
	}
	f.do("found", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Bootstrap(at, bootstrapped) })
	f.policy(func(p *host.Policy) { p.BalanceEvery = 0 })
	t.Cleanup(f.close)
	return f
}

// close ends all hosts, and reports violations.
func (f *fleet) close() {
	f.end()
	for _, m := range f.all() {
		m.stop()
	}
	_ = f.net.Close()
	f.done.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.broken {
		f.Error(b)
	}
	f.broken = nil
}

func (f *fleet) now() uint64 { return 1000 + uint64(time.Since(f.began).Milliseconds()) }

func (f *fleet) all() []*machine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Values(f.hosts), func(a, b *machine) int { return cmp.Compare(a.id, b.id) })
}

func (f *fleet) host(id shard.HostID) *machine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts[id]
}

// named returns the living machine with a name.
func (f *fleet) named(name string) *machine {
	var found *machine
	for _, m := range f.all() {
		if m.name == name && !m.wiped {
			found = m
		}
	}
	return found
}

func (f *fleet) leader(id hosts.ShardID) *machine {
	return f.host(f.net.Group(memlog.GroupID(id)).Leader().Leader)
}

// records are the meta leader's records.
func (f *fleet) records() *hosts.Records {
	if m := f.leader(hosts.Meta); m != nil && m.meta != nil {
		return m.State().Records
	}
	return hosts.New("c", nil)
}

// do has a command on the records carried out, as an operator or a host would.
func (f *fleet) do(what string, run func(hosts.At, *hosts.Records) hosts.Answer) hosts.Answer {
	f.Helper()
	a, done := f.try(100, run)
	if !done {
		f.failed("%s: the meta shard takes no command\n%s", what, f)
	}
	return a
}

// try is do with a limited number of attempts.
func (f *fleet) try(times int, run func(hosts.At, *hosts.Records) hosts.Answer) (hosts.Answer, bool) {
	for range times {
		if m := f.leader(hosts.Meta); m != nil {
			ctx, cancel := context.WithTimeout(f.ctx, time.Second)
			var mu sync.Mutex // every host carries the command out
			var answer hosts.Answer
			err := m.propose(ctx, func(at hosts.At, s *metaState) error {
				own := run(at, s.records)
				mu.Lock()
				defer mu.Unlock()
				answer = own
				return nil
			})
			cancel()
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				return answer, true
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return hosts.Answer{}, false
}

// must is do that requires a success.
func (f *fleet) must(what string, run func(hosts.At, *hosts.Records) hosts.Answer) shard.HostID {
	f.Helper()
	a := f.do(what, run)
	if a.Status != protocol.StatusSuccess {
		f.Fatalf("%s: %v %s", what, a.Status, a.Text)
	}
	return a.Host
}

// policy changes the operators' policy.
func (f *fleet) policy(change func(*host.Policy)) {
	f.Helper()
	f.must("policy", func(at hosts.At, r *hosts.Records) hosts.Answer {
		to := r.Policy()
		change(&to)
		return r.SetPolicy(at, r.Policy(), to)
	})
}

// until waits in virtual time.
func (f *fleet) until(limit time.Duration, what string, condition func() bool) {
	f.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			f.failed("not within %v: %s\n%s", limit, what, f)
		}
	}
}

// join lets a host with an empty directory join, and starts it.
func (f *fleet) join(name, replace string) *machine {
	f.Helper()
	m := f.machine(name)
	f.joins(m, replace)
	return m
}

// joins is join for an existing machine.
func (f *fleet) joins(m *machine, replace string) {
	f.Helper()
	m.id = f.must("join "+m.name, func(at hosts.At, r *hosts.Records) hosts.Answer {
		return r.Join(at, hosts.Join{Cluster: "c", Name: m.name, Incarnation: m.incarnation, Addresses: m.addresses(),
			Level: level.Newest, Trusted: true, Replace: replace, Grace: 1000})
	})
	f.mu.Lock()
	f.hosts[m.id] = m
	f.mu.Unlock()
	m.start()
}

// atRest reports whether the governor has nothing to do and waits for nothing.
func (f *fleet) atRest() bool {
	m := f.leader(hosts.Meta)
	if m == nil || m.down() {
		return false
	}
	reasons, err := m.executor.Why()
	return err == nil && len(reasons) == 0
}

// converge waits until the fleet is in its intended state, and stays so.
func (f *fleet) converge() {
	f.Helper()
	for still := 0; still < 30; still++ {
		if !f.atRest() {
			still = 0
		}
		f.until(20*time.Minute, "the governor comes to rest", f.atRest)
		time.Sleep(100 * time.Millisecond)
	}
}

// voters are the names of each shard's voting hosts: one text if all are equal.
func (f *fleet) voters() string {
	texts := map[string]bool{}
	for _, id := range f.shards {
		var names []string
		for _, m := range f.net.Group(memlog.GroupID(id)).Membership().Members {
			name := f.host(m.Host).name
			if !m.Voter {
				name = "(" + name + ")"
			}
			names = append(names, name)
		}
		slices.Sort(names)
		texts[fmt.Sprint(names)] = true
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(texts)))
}

func (f *fleet) wantVoters(want string) {
	f.Helper()
	if got := f.voters(); got != "["+want+"]" {
		f.Errorf("members %s, want %s\n%s", got, want, f)
	}
}

func (f *fleet) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = append(f.broken, text)
}

// String is for debugging.
func (f *fleet) String() string {
	text := fmt.Sprintf("at %v\n", time.Since(f.began))
	r := f.records()
	for _, h := range r.Hosts() {
		m := f.host(h.ID)
		text += fmt.Sprintf("host %d %s: %s/%d -> %s/%d (%s); down %t, quits %t, %+v\n", h.ID, h.Name,
			h.Current.Variant, h.Current.Epoch, h.Target.Variant, h.Target.Epoch, h.Target.Reason, m.down(), m.quits,
			m.agent.Standing())
	}
	for _, id := range f.shards {
		g := f.net.Group(memlog.GroupID(id))
		text += fmt.Sprintf("%s%+v\non record %+v\n", g, g.Membership(), r.Shard(id))
	}
	if m := f.leader(hosts.Meta); m != nil && m.executor != nil {
		why, err := m.executor.Why()
		text += fmt.Sprintf("why: %+v %v\n", why, err)
	}
	return text
}

// metaState is a host's state of the meta shard.
type metaState struct {
	records    *hosts.Records
	plan       *plan.Plan[governor.Action]
	now        uint64
	term, base uint64
}

// metaCommand is a command in the log, identified by number.
type metaCommand struct {
	now  uint64
	term uint64 // term of the proposing leader
	run  func(hosts.At, *metaState) error
	at   *machine
	done chan error
}

// end sets the command's outcome. A restarted host applies the command again, without a waiting caller.
func (c *metaCommand) end(err error) {
	select {
	case c.done <- err:
	default:
	}
}

// metaMachine is a host's meta state machine.
type metaMachine struct {
	host *machine
	mu   sync.Mutex
	metaState
}

// Apply implements shard.StateMachine.
func (m *metaMachine) Apply(entries []shard.Entry) error {
	for _, e := range entries {
		f := m.host.fleet
		f.mu.Lock()
		c := f.commands[binary.LittleEndian.Uint64(e.Data)]
		f.mu.Unlock()
		m.mu.Lock()
		m.now = max(m.now, c.now)
		if c.term > m.term {
			m.term, m.base = c.term, m.now
		}
		var err error
		if c.term == m.term && c.run != nil {
			err = c.run(hosts.At{Now: m.now, Term: m.term, Level: level.Newest}, &m.metaState)
		} else if c.run != nil {
			err = errors.New("the term is over")
		}
		m.mu.Unlock()
		if c.at == m.host {
			c.end(err)
		}
	}
	return nil
}

// LeadershipChanged implements shard.StateMachine.
func (m *metaMachine) LeadershipChanged(shard.Leadership) { m.host.wake() }

// PrepareSnapshot implements shard.StateMachine: these tests never compact logs.
func (*metaMachine) PrepareSnapshot() (shard.Snapshot, error) { return nil, errors.ErrUnsupported }

// Restore implements shard.StateMachine.
func (*metaMachine) Restore(io.Reader) error { return errors.ErrUnsupported }

// dataMachine is a data shard's state machine.
type dataMachine struct{}

func (dataMachine) Apply([]shard.Entry) error                { return nil }
func (dataMachine) LeadershipChanged(shard.Leadership)       {}
func (dataMachine) PrepareSnapshot() (shard.Snapshot, error) { return nil, errors.ErrUnsupported }
func (dataMachine) Restore(io.Reader) error                  { return nil }

// warnings counts the hosts' warnings, by text.
type warnings struct {
	slog.Handler
	mu    sync.Mutex
	count map[string]int
}

func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil {
		w.count = make(map[string]int)
	}
	w.count[r.Message]++
	return nil
}
