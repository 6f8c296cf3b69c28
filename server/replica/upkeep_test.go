package replica

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/protocol/level/leveltest"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// countingLog counts proposed commands by kind.
type countingLog struct {
	shard.Log
	decode func([]byte) []string

	mu       sync.Mutex // guards what follows
	commands map[string]int
	batches  int
	refuse   map[string]int // remaining refusals of batches with such a command
	held     bool           // proposals wait until released
	waiting  []func() error
}

func (l *countingLog) count(data []byte) error {
	kinds := l.decode(bytes.Clone(data))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kind := range kinds {
		if l.refuse[kind] > 0 {
			l.refuse[kind]--
			return shard.ErrLogBusy
		}
	}
	l.batches++
	for _, kind := range kinds {
		l.commands[kind]++
	}
	return nil
}

func (l *countingLog) Propose(data []byte, done func(shard.Outcome)) error {
	if err := l.count(data); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		data = bytes.Clone(data)
		l.waiting = append(l.waiting, func() error { return l.Log.Propose(data, done) })
		return nil
	}
	return l.Log.Propose(data, done)
}

// hold makes the log hold proposals.
func (l *countingLog) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

// release releases held and future proposals.
func (l *countingLog) release(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	waiting := l.waiting
	l.held, l.waiting = false, nil
	l.mu.Unlock()
	for _, propose := range waiting {
		if err := propose(); err != nil {
			t.Fatal(err)
		}
	}
}

// fill fills the host's own share of the queue, behind held batches.
func fill(t *testing.T, r *Replica, held *countingLog) {
	t.Helper()
	held.hold()
	add := func() {
		for r.Pipeline.Add(pipeline.Op{Done: func(*shard.Effect, protocol.Status) {}},
			&shard.Command{Kind: shard.CmdDigestCompare}) {
			continue
		}
		r.Pipeline.Flush()
	}
	for inflight := -1; ; {
		add()
		_, batches := r.Pipeline.Waiting()
		if batches == inflight {
			return
		}
		inflight = batches
	}
}

// proposed is the number of commands proposed since the last call to taken, by kind.
func (l *countingLog) proposed(kind string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commands[kind]
}

// taken returns the proposals since the last call.
func (l *countingLog) taken() (commands map[string]int, batches int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	commands, batches = l.commands, l.batches
	l.commands, l.batches = make(map[string]int), 0
	return commands, batches
}

// counting puts counters in front of the logs of the first data shard and the meta shard.
func counting(s *Set) (data, cluster *countingLog) {
	r := s.All()[0]
	data = &countingLog{Log: r.log, commands: make(map[string]int), decode: func(batch []byte) (kinds []string) {
		var b shard.Batch
		if err := shard.DecodeBatch(batch, &b, level.Newest); err != nil {
			panic(err)
		}
		for i := range b.Commands {
			kinds = append(kinds, b.Commands[i].Kind.String())
		}
		return kinds
	}}
	cluster = &countingLog{Log: s.Meta.log, commands: make(map[string]int)}
	cluster.decode = func(batch []byte) (kinds []string) {
		var b meta.Batch
		if err := meta.DecodeBatch(batch, &b, level.Newest); err != nil {
			panic(err)
		}
		for i := range b.Commands {
			kinds = append(kinds, b.Commands[i].Kind.String())
		}
		return kinds
	}
	r.log, s.Meta.log = data, cluster
	r.Pipeline.Open(data)
	return data, cluster
}

// until drives a host with a stopped loop until a condition holds.
func until(t *testing.T, what string, s *Set, drive func(), is func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !is(); {
		if time.Now().After(late) {
			t.Fatalf("it never is so that %s", what)
		}
		drive()
		select {
		case <-s.wakes:
		case <-time.After(time.Millisecond): // commands applied by the meta shard do not wake the loop
		}
	}
}

// metaBatches sends commands to the meta shard, some at a time, and waits until all are applied.
func metaBatches(t *testing.T, s *Set, commands []meta.Command) {
	t.Helper()
	for step := range slices.Chunk(commands, 500) {
		before := s.Meta.Machine.Version()
		s.Meta.request(step...)
		until(t, "the meta shard has applied a batch", s, func() {},
			func() bool { return s.Meta.appliedVersion.Load() >= before+uint64(len(step)) })
	}
}

// TestManyDroppedNodesAreRemovedInFewStepsAtATime: thousands of simultaneously dropped nodes do not fill the shard
// queues, no step is proposed twice, and the meta shard is notified in batches.
func TestManyDroppedNodesAreRemovedInFewStepsAtATime(t *testing.T) {
	h := standalone(t, 1)
	r := h.All()[0]
	const nodes = 2500
	var makes, drops []meta.Command
	for i := range nodes {
		makes = append(makes, meta.Command{Kind: meta.CmdNodeCreate, Path: fmt.Sprintf("/node/%d", i)})
		drops = append(drops, meta.Command{Kind: meta.CmdNodeDrop, Path: fmt.Sprintf("/node/%d", i)})
	}
	metaBatches(t, h, makes)
	var sessions []shard.Command
	for _, n := range allNodes(h) {
		sessions = append(sessions, shard.Command{Kind: shard.CmdSessionCreate, Node: n, Timeout: 60_000,
			Slot: someSlot(r)})
	}
	propose(t, r, sessions...)
	metaBatches(t, h, drops)
	data, cluster := counting(h)

	now, rounds, most := h.Now(), 0, 0
	before := h.Meta.appliedVersion.Load()
	r.leader.recheck()
	until(t, "all nodes are cleared", h, func() {
		r.leader.reconcile(now)
		commands, batches := r.Pipeline.Waiting()
		most = max(most, commands+batches)
		// Time advances to the next reports only when the meta shard has applied the previous ones: they are repeated
		// by time, and a slow machine would send more than the nodes need.
		if rounds++; r.Machine.Count().Nodes == 0 &&
			h.Meta.appliedVersion.Load() >= before+uint64(cluster.proposed("node-cleared")) {
			now = now.Add(clearedEvery)
		}
	}, func() bool {
		page, _ := h.Meta.Machine.Dropping(0, 1)
		return len(page) == 0
	})
	taken, _ := data.taken()
	if n := taken["node-drop"]; n != nodes {
		t.Errorf("%d steps were proposed for %d nodes", n, nodes)
	}
	if most > 2*dropsAtOnce {
		t.Errorf("%d commands and batches waited at once", most)
	}
	reports, batches := cluster.taken()
	if reports["node-cleared"] > 2*nodes || batches > 2*nodes/clearedStep+2 {
		t.Errorf("%d reports in %d batches of %d nodes", reports["node-cleared"], batches, nodes)
	}
	t.Logf("%d rounds; %v and %v in %d batches; %d waited at the most", rounds, taken, reports, batches, most)
}

// allNodes returns the ids of all nodes in the cluster.
func allNodes(s *Set) (ids []shard.NodeID) {
	for after, more := "", true; more; {
		var page []meta.Node
		page, more = s.Meta.Machine.Nodes("", after, shard.MaxPage)
		for i := range page {
			ids, after = append(ids, page[i].ID), page[i].Path
		}
	}
	return ids
}

// upkeep is a command proposed by a data shard leader by itself, with a state in which it is due.
type upkeep struct {
	kind shard.CommandKind
	// due makes the command due, and returns a function that drives the leader for a step, and one that reports
	// completion.
	due func(t *testing.T, h *Set) (drive func(), over func() bool)
}

var upkeeps = []upkeep{
	{shard.CmdSessionsExpire, func(t *testing.T, h *Set) (func(), func() bool) {
		r, now := h.All()[0], h.Now()
		id := propose(t, r, shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 1000,
			Slot: someSlot(r)}).Session
		r.Leases.Restore(id, 1, time.Second, now)
		return func() {
			now = now.Add(stallAfter / 2)
			r.leader.expire(now)
		}, func() bool { return r.Machine.Liveness(id) == shard.Dead }
	}},
	{shard.CmdDue, func(t *testing.T, h *Set) (func(), func() bool) {
		r, term, _ := queued(t, h, 3*shard.MaxWork)
		return func() { r.leader.proposeDue(term) }, func() bool { return r.Machine.Count().Waiters == 0 }
	}},
	{shard.CmdWaiterWithdraw, func(t *testing.T, h *Set) (func(), func() bool) {
		r, term, id := queued(t, h, 100)
		refs, _, _ := semaphore.WaitersOf(r.Machine, id, 0, nil)
		for _, ref := range refs {
			r.leader.withdraw(ref)
		}
		return func() { r.leader.proposeWithdrawals(term) }, func() bool { return r.Machine.Count().Waiters == 0 }
	}},
	{shard.CmdSessionsForget, func(t *testing.T, h *Set) (func(), func() bool) {
		r, home := h.All()[0], h.All()[1]
		var effects shard.Effects
		home.Machine.Apply(&shard.Batch{Stamp: clock.Stamp{Term: home.Machine.Term()}, Commands: []shard.Command{
			{Kind: shard.CmdSessionCreate, Slot: shard.Slots - 1, Node: 1, Timeout: 60_000}}}, &effects)
		remote := shard.NewSessionID(shard.Slots-2, 1) // assigned by its home, and unknown there
		propose(t, r, shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: remote, Number: 1, Name: nameIn(r, 1),
			Count: 1, Flags: shard.FlagEphemeral})
		r.leader.suspect(remote)
		return func() { r.leader.reconcile(h.Now()) }, func() bool { return r.Machine.Count().RemoteSessions == 0 }
	}},
	{shard.CmdContinue, func(t *testing.T, h *Set) (func(), func() bool) {
		r := h.All()[0]
		id := linked(t, r, 3*shard.MaxWork)
		propose(t, r, shard.Command{Kind: shard.CmdSessionEnd, Session: id})
		if r.Machine.Pending() == 0 {
			t.Fatal("nothing is pending")
		}
		return r.leader.continueWork, func() bool { return r.Machine.Pending() == 0 }
	}},
	{shard.CmdNodeDrop, func(t *testing.T, h *Set) (func(), func() bool) {
		r := h.All()[0]
		metaBatches(t, h, []meta.Command{{Kind: meta.CmdNodeCreate, Path: "/doomed"}})
		doomed := allNodes(h)[0]
		propose(t, r, shard.Command{Kind: shard.CmdSessionCreate, Node: doomed, Timeout: 60_000, Slot: someSlot(r)})
		metaBatches(t, h, []meta.Command{{Kind: meta.CmdNodeDrop, Path: "/doomed"}})
		r.leader.recheck()
		return func() { r.leader.reconcile(h.Now()) }, func() bool { return len(r.Machine.Nodes()) == 0 }
	}},
	{shard.CmdNodeLimits, func(t *testing.T, h *Set) (func(), func() bool) {
		r, want := h.All()[0], shard.Limits{Objects: 7}
		h.quotas.nodes[1] = want
		r.leader.checkQuota(1)
		return r.leader.proposeQuotas, func() bool { return r.Machine.Limits(1) == want }
	}},
}

// queued makes a session wait for a millisecond for each of another session's semaphores.
func queued(t *testing.T, h *Set, waiters int) (r *Replica, term uint64, id shard.SessionID) {
	t.Helper()
	r = h.All()[0]
	linked(t, r, waiters)
	id = propose(t, r, shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 60_000, Slot: someSlot(r)}).Session
	var waits []shard.Command
	for i := range waiters {
		c := acquireOf(id, i)
		c.Count, c.Timeout = shard.Exclusive, 1
		waits = append(waits, c)
	}
	propose(t, r, waits...)
	if n := r.Machine.Count().Waiters; n != waiters {
		t.Fatalf("%d wait", n)
	}
	return r, r.leader.stage().term, id
}

// TestWhatTheQueueHadNoRoomForIsProposedAgain: a queue full of the host's own commands refuses more of them, and each
// due command is proposed again when there is room.
func TestWhatTheQueueHadNoRoomForIsProposedAgain(t *testing.T) {
	for _, u := range upkeeps {
		t.Run(u.kind.String(), func(t *testing.T) {
			shards := 1
			if u.kind == shard.CmdSessionsForget {
				shards = 2 // a remote session needs a second shard
			}
			h := standalone(t, shards)
			r := h.All()[0]
			drive, over := u.due(t, h)
			data, _ := counting(h)
			fill(t, r, data)
			data.taken()
			for range 20 {
				drive()
			}
			if taken, _ := data.taken(); len(taken) > 0 || over() {
				t.Fatalf("the queue was full, and %v were proposed", taken)
			}
			data.release(t)
			until(t, "the queue is empty", h, func() {}, func() bool {
				commands, batches := r.Pipeline.Waiting()
				return commands+batches == 0
			})
			if over() {
				t.Fatal("it was done without its command")
			}
			until(t, "what was due is done", h, drive, over)
			if taken, _ := data.taken(); taken[u.kind.String()] == 0 {
				t.Errorf("it took %v", taken)
			}
		})
	}
}

// TestALevelThatTheQueueHadNoRoomForRisesLater: the same for a shard at a lower level.
func TestALevelThatTheQueueHadNoRoomForRisesLater(t *testing.T) {
	h := notBootstrapped(t)
	leveltest.Raise(t)
	r := h.All()[0]
	h.config.Self.Level = level.Newest
	until(t, "the cluster is of the newest level", h, h.Meta.upkeep,
		func() bool { return h.Meta.Machine.Level() == level.Newest })
	data, _ := counting(h)
	fill(t, r, data)
	for range 3 {
		r.leader.raiseLevel()
	}
	data.release(t)
	until(t, "the shard is of the newest level", h, r.leader.raiseLevel,
		func() bool { return r.Pipeline.Level() == level.Newest })
}

// TestWhatTheMetaShardHadNoRoomForIsSaidAgain: a busy log refuses host reports to the meta shard, and each report is
// repeated.
func TestWhatTheMetaShardHadNoRoomForIsSaidAgain(t *testing.T) {
	h := notBootstrapped(t)
	leveltest.Raise(t)
	r := h.All()[0]
	_, cluster := counting(h)
	const times = 3
	cluster.refuse = make(map[string]int)
	for _, kind := range []meta.CommandKind{
		meta.CmdHostRegister, meta.CmdClusterLevel, meta.CmdHostObservation, meta.CmdGraceConfirmed,
		meta.CmdNodeCleared,
	} {
		cluster.refuse[kind.String()] = times
	}
	before := maps.Clone(cluster.refuse)
	h.config.Self.Level = level.Newest // the host's record changes, and so may the level
	until(t, "the cluster is of the newest level", h, h.Meta.upkeep,
		func() bool { return h.Meta.Machine.Level() == level.Newest })
	metaBatches(t, h, []meta.Command{{Kind: meta.CmdNodeCreate, Path: "/jobs"}})
	metaBatches(t, h, []meta.Command{{Kind: meta.CmdNodeAlter, Path: "/jobs",
		Config: meta.Config{SessionGracePeriodMillis: 20_000}}})
	altered := h.Meta.Machine.Version()
	until(t, "the new grace is confirmed", h, func() {
		h.Meta.upkeep()
		for id := shard.HostID(2); id <= hosts.MaxHosts+1; id++ {
			h.Meta.request(meta.Command{Kind: meta.CmdHostObservation, Host: meta.Host{ID: id}, Expected: altered})
		}
	}, func() bool {
		n, _ := h.Meta.Machine.Node("/jobs")
		return n.Confirmed()
	})
	metaBatches(t, h, []meta.Command{{Kind: meta.CmdNodeDrop, Path: "/jobs"}})
	now := h.Now()
	until(t, "the dropped node is cleared", h, func() {
		now = now.Add(clearedEvery)
		r.leader.reconcile(now)
	}, func() bool {
		page, _ := h.Meta.Machine.Dropping(0, 1)
		return len(page) == 0
	})
	for kind, n := range cluster.refuse {
		if n > 0 {
			t.Errorf("%s was refused %d times; want %d", kind, before[kind]-n, times)
		}
	}
}
