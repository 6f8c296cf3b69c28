package simulation

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/test/memlog"
)

// times checks every data shard's time over the whole run: it never goes back, replicas agree on it at each log index,
// and no delay is too short.
//
// Delays are checked without waiting for objects with delays. A delay can begin with every effective batch, and end
// with every later batch. So each pair of batches counts as a delay: between the two proposals, the shard time must not
// advance by more than the fastest host clock, plus the millisecond added by package clock.
type times struct {
	world *world
	rate  float64 // fastest clock

	cluster atomic.Pointer[servertest.Cluster]

	mu       sync.Mutex // guards what follows
	proposed map[batchName]time.Duration
	shards   map[uint64]*shardTimes
	notes    int
}

// batchName identifies a batch by its proposer, separately for each shard.
type batchName struct{ shard, proposer, sequence uint64 }

// shardTimes is the known time of one shard.
type shardTimes struct {
	at     map[uint64]clock.Clock // by index
	latest uint64                 // highest checked index
	// least is the smallest lead, in milliseconds, of the shard time over the fastest clock at the start of a delay.
	least float64
	began bool
}

func newTimes(w *world) *times {
	t := &times{world: w, proposed: make(map[batchName]time.Duration), shards: make(map[uint64]*shardTimes)}
	for _, rate := range w.plan.Rates {
		t.rate = max(t.rate, rate)
	}
	return t
}

// forget drops the known log times of an ended cluster. The time continues in the next cluster.
func (t *times) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.proposed)
	clear(t.shards)
}

// forgetShard drops the known log times of a rebuilt shard: the new log may reuse indexes.
func (t *times) forgetShard(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.shards, id)
}

// running returns a host, nil while stopped.
func (t *times) running(id shard.HostID) *server.Host {
	if c := t.cluster.Load(); c != nil {
		return c.Host(id)
	}
	return nil
}

// watch puts the check between the logs of a host's data shards and their machines.
func (t *times) watch(c *server.Config) {
	open, host := c.Logs, c.ID
	c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) { return t.between(host, id, sm, open) }
	c.Replicas = timedReplicas{c.Replicas, t, host}
}

// between opens a log with the check around it. The meta shard is not checked.
func (t *times) between(host shard.HostID, id uint64, sm shard.StateMachine,
	open func(uint64, shard.StateMachine) (shard.Log, error)) (shard.Log, error) {
	if id == 0 {
		return open(id, sm)
	}
	l, err := open(id, &timedMachine{StateMachine: sm, times: t, host: host, shard: id})
	if err != nil {
		return l, err
	}
	n := noted{t, id}
	if l, is := l.(changedLog); is {
		return &timedProduction{l, n}, nil
	}
	return &timedLog{l.(*memlog.Log), n}, nil
}

// timedReplicas are replicas added to a running host.
type timedReplicas struct {
	replica.Replicas
	times *times
	host  shard.HostID
}

// Join implements replica.Replicas.
func (r timedReplicas) Join(id, number uint64, sm shard.StateMachine) (shard.Log, error) {
	return r.times.between(r.host, id, sm, func(id uint64, sm shard.StateMachine) (shard.Log, error) {
		return r.Replicas.Join(id, number, sm)
	})
}

// timedLog notes when batches are proposed.
type timedLog struct {
	*memlog.Log
	noted
}

// Propose implements shard.Log.
func (l *timedLog) Propose(data []byte, done func(shard.Outcome)) error {
	l.note(data)
	return l.Log.Propose(data, done)
}

// timedProduction is a timedLog for the production log.
type timedProduction struct {
	changedLog
	noted
}

// Propose implements shard.Log.
func (p *timedProduction) Propose(data []byte, done func(shard.Outcome)) error {
	p.note(data)
	return p.Log.Propose(data, done)
}

// noted records a shard's batches.
type noted struct {
	times *times
	shard uint64
}

func (n *noted) note(data []byte) {
	var b shard.Batch
	if err := shard.DecodeBatch(bytes.Clone(data), &b, level.Newest); err == nil {
		t := n.times
		t.mu.Lock()
		t.proposed[batchName{n.shard, b.Proposer, b.Sequence}] = time.Since(t.world.began)
		t.mu.Unlock()
	}
}

// timedMachine checks a replica's time after every batch.
type timedMachine struct {
	shard.StateMachine
	times *times
	host  shard.HostID
	shard uint64
	last  clock.Clock
}

// Apply implements shard.StateMachine.
func (m *timedMachine) Apply(entries []shard.Entry) error {
	for i := range entries {
		var b shard.Batch
		err := shard.DecodeBatch(bytes.Clone(entries[i].Data), &b, level.Newest)
		if failed := m.StateMachine.Apply(entries[i : i+1]); failed != nil {
			return failed
		}
		h := m.times.running(m.host)
		if h == nil || err != nil {
			continue // starting or stopping
		}
		m.times.check(m, entries[i].Index, &b, h.ShardClock(m.shard))
	}
	return nil
}

// check compares a replica's time with the known times.
func (t *times) check(m *timedMachine, index uint64, b *shard.Batch, now clock.Clock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Now < m.last.Now || now.Term < m.last.Term {
		t.note("the time of shard %d went back at host %d, entry %d: from %+v to %+v", m.shard, m.host, index, m.last,
			now)
	}
	m.last = now
	if t.world.isLost(m.shard) {
		return // the entry may be from the old or the new group
	}
	s := t.shards[m.shard]
	if s == nil {
		s = &shardTimes{at: make(map[uint64]clock.Clock)}
		t.shards[m.shard] = s
	}
	if before, known := s.at[index]; known && before != now {
		t.note("the time of shard %d at entry %d is %+v on host %d, and %+v elsewhere", m.shard, index, now, m.host,
			before)
	}
	s.at[index] = now
	proposed, known := t.proposed[batchName{m.shard, b.Proposer, b.Sequence}]
	if index <= s.latest || !known {
		return
	}
	s.latest = index
	ahead := float64(now.Now) - t.rate*float64(proposed)/float64(time.Millisecond)
	const margin = 1e-3 // rounding error of the sums above
	if s.began && ahead > s.least+1+margin {
		t.note("a delay in shard %d that is over with entry %d was %.3f ms shorter than asked", m.shard, index,
			ahead-s.least-1)
	}
	if b.Stamp.Term != 0 && b.Stamp.Term == now.Term && len(b.Commands) > 0 && (!s.began || ahead < s.least) {
		s.began, s.least = true, ahead
	}
}

// note notes the first few violations only.
func (t *times) note(format string, args ...any) {
	if t.notes++; t.notes <= 3 {
		t.world.record.Note(format, args...)
	}
}
