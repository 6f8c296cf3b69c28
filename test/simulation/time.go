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

// times checks the time of every data shard over the whole run: it never goes back, replicas agree on it at each index
// of the log, and no delay is shorter than asked.
//
// No kind of objects need wait for that. A delay can begin with every batch that has an effect, and be over with every
// later one. So each pair of batches is a delay: the time of the shard must not have gone on by more than the fastest
// clock of a host, between the proposing of the one and that of the other, and the millisecond that package clock adds.
type times struct {
	world *world
	rate  float64 // of the fastest clock

	cluster atomic.Pointer[servertest.Cluster]

	mu       sync.Mutex // guards what follows
	proposed map[batchName]time.Duration
	shards   map[uint64]*shardTimes
	notes    int
}

// batchName is what a batch carries of its proposer, whose shards count for themselves.
type batchName struct{ shard, proposer, sequence uint64 }

// shardTimes is what is known of the time of one shard.
type shardTimes struct {
	at     map[uint64]clock.Clock // by index
	latest uint64                 // the highest index that was checked
	// least is by how much the shard's time is ahead of the fastest clock, in milliseconds, where a delay began that
	// this is the least of.
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

// forget drops what is known of the logs of a cluster that has ended. Its time goes on in the next one.
func (t *times) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.proposed)
	clear(t.shards)
}

// forgetShard drops what is known of the log of a shard that was made anew: the indexes of the new log may begin again.
func (t *times) forgetShard(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.shards, id)
}

// running returns a host, nil while it does not run.
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

// between opens a log with the check around it. The meta shard has none.
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

// timedReplicas are the replicas that come to a host while it runs.
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

// timedProduction is a timedLog of production.
type timedProduction struct {
	changedLog
	noted
}

// Propose implements shard.Log.
func (p *timedProduction) Propose(data []byte, done func(shard.Outcome)) error {
	p.note(data)
	return p.Log.Propose(data, done)
}

// noted is where batches of a shard are noted.
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

// timedMachine looks at the time of a replica after every batch.
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
			continue // it starts, or stops
		}
		m.times.check(m, entries[i].Index, &b, h.ShardClock(m.shard))
	}
	return nil
}

// check compares the time of a replica with what is known of it.
func (t *times) check(m *timedMachine, index uint64, b *shard.Batch, now clock.Clock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Now < m.last.Now || now.Term < m.last.Term {
		t.note("the time of shard %d went back at host %d, entry %d: from %+v to %+v", m.shard, m.host, index, m.last,
			now)
	}
	m.last = now
	if t.world.isLost(m.shard) {
		return // whether an entry is of the group before or of the new one is not known
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
	const margin = 1e-3 // of the sums above
	if s.began && ahead > s.least+1+margin {
		t.note("a delay in shard %d that is over with entry %d was %.3f ms shorter than asked", m.shard, index,
			ahead-s.least-1)
	}
	if b.Stamp.Term != 0 && b.Stamp.Term == now.Term && len(b.Commands) > 0 && (!s.began || ahead < s.least) {
		s.began, s.least = true, ahead
	}
}

// note notes a few of the violations; all of them would be too many.
func (t *times) note(format string, args ...any) {
	if t.notes++; t.notes <= 3 {
		t.world.record.Note(format, args...)
	}
}
