package replica

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// timeoutBed is a single host with clock and loop controlled by the test.
type timeoutBed struct {
	*testing.T
	r     *Replica
	ahead atomic.Int64
}

func newTimeoutBed(t *testing.T) *timeoutBed {
	t.Helper()
	b, began := &timeoutBed{T: t}, time.Now()
	s := standaloneWith(t, 1, level.Newest, func(c *Config) {
		c.Clock = func() time.Time { return began.Add(time.Duration(b.ahead.Load())) }
	})
	b.r = s.All()[0]
	return b
}

// check is a round of the loop.
func (b *timeoutBed) check() { b.r.timeouts.check(b.r.leader.stage().term, b.r.set.Now()) }

// recorded is the meta shard's record.
func (b *timeoutBed) recorded() hosts.TimeoutBound {
	return b.r.set.Meta.Machine.ShardRecord(hosts.ShardID(b.r.ID)).Bound
}

// settles goes on until a timeout is on record.
func (b *timeoutBed) settles(on shard.Longest) {
	b.Helper()
	until(b.T, "the bound is on record", b.r.set, b.check, func() bool { return b.recorded().Longest == on })
}

// session starts a session once its timeout is granted, and returns its id.
func (b *timeoutBed) session(timeout uint64) shard.SessionID {
	b.Helper()
	granted, onRecord := false, uint64(0)
	if !b.r.OnceGranted(timeout, func(is bool) { granted, onRecord = is, b.recorded().Longest.Timeout }) {
		b.Fatal("the host does not lead")
	}
	until(b.T, "the timeout is granted", b.r.set, b.check, func() bool { return granted })
	if onRecord < timeout {
		b.Errorf("%d ms are granted while %d ms are on record", timeout, onRecord)
	}
	return propose(b.T, b.r, shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: timeout,
		Slot: someSlot(b.r)}).Session
}

func (b *timeoutBed) end(id shard.SessionID) {
	propose(b.T, b.r, shard.Command{Kind: shard.CmdSessionEnd, Session: id})
}

// look lets time pass until the leader checks its sessions again.
func (b *timeoutBed) look() {
	b.ahead.Add(int64(lookEvery))
	b.check()
}

// TestABoundIsLoweredWhenNoSessionNeedsIt: rarely, immediately if sessions are granted, and named after its session.
func TestABoundIsLoweredWhenNoSessionNeedsIt(t *testing.T) {
	b := newTimeoutBed(t)
	for timeout, granted := range map[uint64]bool{
		0: true, shard.UnnotedTimeout: true, shard.UnnotedTimeout + 1: false,
	} {
		if b.r.Grants(timeout) != granted {
			t.Errorf("a timeout of %d ms is granted: %t", timeout, !granted)
		}
	}
	hour := b.session(3_600_000)
	minute := b.session(60_000)
	b.look()
	b.settles(shard.Longest{Timeout: 3_600_000, Session: hour})
	b.end(hour)
	b.look()
	if !b.r.Grants(3_600_000) {
		t.Error("the bound is lowered before a minute has passed")
	}
	b.ahead.Add(int64(lowerAfter))
	b.check()
	if b.r.Grants(60_001) || !b.r.Grants(60_000) {
		t.Error("the bound that is to be lowered counts")
	}
	b.settles(shard.Longest{Timeout: 60_000, Session: minute})
	b.end(minute)
	b.ahead.Add(int64(lowerAfter))
	b.check()
	b.settles(shard.Longest{})
	if b.r.Grants(shard.UnnotedTimeout+1) || !b.r.Grants(shard.UnnotedTimeout) {
		t.Error("the bound without long sessions is not the one without a record")
	}
}

// TestALateBoundDoesNotLowerALaterOne: the leader lowers its bound, and raises it again before the lower bound has
// reached the meta shard, which a forwarded command may do at any time.
func TestALateBoundDoesNotLowerALaterOne(t *testing.T) {
	b := newTimeoutBed(t)
	m := b.r.set.Meta
	b.end(b.session(60_000))
	log := &heldLog{Log: m.log}
	m.log = log
	b.ahead.Add(int64(lowerAfter))
	b.check()
	if b.r.Grants(60_000) || len(log.held) != 1 {
		t.Fatalf("the bound was not lowered; %d commands are under way", len(log.held))
	}
	m.log = log.Log
	id := b.session(60_000)
	late := make(chan shard.Outcome, 1)
	if err := log.Log.Propose(log.held[0], func(o shard.Outcome) { late <- o }); err != nil {
		t.Fatal(err)
	}
	if o := <-late; o != shard.OutcomeApplied {
		t.Fatal(o)
	}
	if got := b.recorded(); got.Longest.Timeout != 60_000 || !b.r.Grants(60_000) {
		t.Errorf("after the late bound %+v is on record for session %v", got, id)
	}
}

// heldLog holds back proposals.
type heldLog struct {
	shard.Log
	held [][]byte
}

func (l *heldLog) Propose(batch []byte, _ func(shard.Outcome)) error {
	l.held = append(l.held, append([]byte(nil), batch...))
	return nil
}

// TestASessionThatAppearsWhileTheBoundIsLoweredIsCovered: it did not exist yet at the leader's check.
func TestASessionThatAppearsWhileTheBoundIsLoweredIsCovered(t *testing.T) {
	b := newTimeoutBed(t)
	b.end(b.session(60_000))
	b.ahead.Add(int64(lowerAfter))
	on := b.r.set.Meta.Machine.ShardRecord(hosts.ShardID(b.r.ID))
	if !b.r.timeouts.look(on, b.r.set.Now()) {
		t.Fatal("the leader does not look")
	}
	id := b.session(60_000)
	b.r.timeouts.mu.Lock()
	defer b.r.timeouts.mu.Unlock()
	if got, want := b.r.timeouts.needed(), (shard.Longest{Timeout: 60_000, Session: id}); got != want {
		t.Errorf("the bound is to cover %+v, want %+v", got, want)
	}
}

// TestANewTermBeginsWithoutABound: the new term's timeouts are recorded before any of its sessions is attached, and a
// previous leader's record is lowered.
func TestANewTermBeginsWithoutABound(t *testing.T) {
	b := newTimeoutBed(t)
	begin := func() {
		t.Helper()
		term := b.r.leader.stage().term + 1
		b.r.leader.begin(term)
		if b.r.Grants(shard.UnnotedTimeout + 1) {
			t.Error("a new term grants what a term before has put on record")
		}
		step := func() { b.r.leader.step(b.r.set.Now(), b.r.leader.stage()) }
		until(t, "the leader serves", b.r.set, step, b.r.leader.ready)
	}
	b.end(b.session(120_000))
	id := b.session(60_000)
	begin()
	b.settles(shard.Longest{Timeout: 60_000, Session: id})
	if term := b.r.leader.stage().term; b.recorded().Term != term || b.recorded().Number != 1 {
		t.Errorf("in term %d the record is %+v", term, b.recorded())
	}
	until(t, "the session may be attached", b.r.set, b.check, func() bool { return b.r.Grants(60_000) })
	b.end(id)
	begin()
	b.look()
	b.settles(shard.Longest{})
}

// TestARebuiltShardKeepsTheTimeoutsOfBeforeOnRecord: as long as it waits for their clients, because it may be lost
// again.
func TestARebuiltShardKeepsTheTimeoutsOfBeforeOnRecord(t *testing.T) {
	b := newTimeoutBed(t)
	id := b.session(60_000)
	renew(t, b.r, b.r.Machine)
	b.settles(shard.Longest{Timeout: 60_000, Session: id})
	if got := b.recorded(); got.Term>>shard.GroupTermBits != 1 {
		t.Errorf("the record is of the group before: %+v", got)
	}
}

// TestATimeoutIsRefusedWithoutTheMetaShard, after a while, and when the leadership ends.
func TestATimeoutIsRefusedWithoutTheMetaShard(t *testing.T) {
	b := newTimeoutBed(t)
	b.r.set.Meta.log = &heldLog{Log: b.r.set.Meta.log}
	var refused []time.Duration
	ask := func() bool {
		return b.r.OnceGranted(60_000, func(granted bool) {
			if granted {
				t.Error("the timeout is granted")
			}
			refused = append(refused, time.Duration(b.ahead.Load()))
		})
	}
	if !ask() {
		t.Fatal("the host does not lead")
	}
	for range 5 {
		b.check()
		b.ahead.Add(int64(time.Second))
	}
	if len(refused) != 1 || refused[0] != 3*time.Second {
		t.Errorf("refused at %v", refused)
	}
	ask()
	b.r.leader.end()
	if len(refused) != 2 {
		t.Error("who waits is not refused at the end of the leadership")
	}
	if ask() {
		t.Error("a host that does not lead has clients wait")
	}
}
