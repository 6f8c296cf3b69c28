package replica

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// hostInTime is a single host with loop and clock controlled by the test, and an alarm set by the test.
type hostInTime struct {
	*Set
	t     *testing.T
	r     *Replica
	data  *countingLog
	now   atomic.Int64  // offset of the host's clock
	alarm atomic.Uint64 // 0: none
}

func newTimed(t *testing.T) *hostInTime {
	h := &hostInTime{t: t}
	h.Set = standaloneWith(t, 1, level.Newest, func(c *Config) {
		began := time.Now()
		c.Clock = func() time.Time { return began.Add(time.Duration(h.now.Load())) } // stands still but for the test
		c.NextAlarm = func(uint64, *machine.Machine) (uint64, bool) {
			return machine.Bootstrap + h.alarm.Load(), h.alarm.Load() != 0
		}
	})
	h.r = h.All()[0]
	h.data, _ = counting(h.Set)
	return h
}

// pass lets time pass, runs the leader's tasks, and returns the number of commands that it proposed.
func (h *hostInTime) pass(d time.Duration) int {
	h.t.Helper()
	h.now.Add(int64(d))
	h.r.leader.proposeDue(h.r.leader.stage().term)
	until(h.t, "the queue is empty", h.Set, func() {}, func() bool {
		commands, batches := h.r.Pipeline.Waiting()
		return commands+batches == 0 && !h.r.leader.dueing.Load() // a batch leaves before its callers are answered
	})
	taken, _ := h.data.taken()
	return taken["due"]
}

func (h *hostInTime) mustPass(d time.Duration, proposed int, want time.Duration) {
	h.t.Helper()
	if n := h.pass(d); n != proposed {
		h.t.Fatalf("%d commands were proposed, want %d", n, proposed)
	}
	if got := time.Duration(h.r.Machine.Time()-machine.Bootstrap) * time.Millisecond; got != want {
		h.t.Fatalf("the time of the shard is %v, want %v", got, want)
	}
}

// TestALeaderProposesWhatIsDueWhenItIs: with beats before, and nothing at all without an alarm.
func TestALeaderProposesWhatIsDueWhenItIs(t *testing.T) {
	h := newTimed(t)
	h.mustPass(time.Hour, 0, 0)
	h.alarm.Store(uint64((time.Hour + 25*time.Second) / time.Millisecond))
	h.mustPass(0, 1, time.Hour) // a beat: the shard time is far behind
	h.mustPass(time.Second, 0, time.Hour)
	h.mustPass(beatAfter-time.Second-1, 0, time.Hour)
	h.mustPass(1, 1, time.Hour+beatAfter)
	at, left := time.Hour+beatAfter, 25*time.Second-beatAfter
	for half := left / 2; half >= firstBeat; half = left / 2 { // close to the alarm
		h.mustPass(half-1, 0, at)
		at, left = at+half, left-half
		h.mustPass(1, 1, at)
	}
	h.mustPass(left-time.Millisecond, 0, at)
	if n := h.r.Beats(); n != 7 {
		t.Fatalf("%d beats", n)
	}
	h.mustPass(time.Millisecond, 1, time.Hour+25*time.Second)
	h.alarm.Store(0)
	h.mustPass(time.Hour, 0, time.Hour+25*time.Second)
	if n := h.r.Beats(); n != 7 {
		t.Fatalf("%d beats", n)
	}
}

// TestAlarmsOfOneTickAreDueTogether: a second command for alarms follows a Tick after the first, or at once if the
// first had more to do than a command may.
func TestAlarmsOfOneTickAreDueTogether(t *testing.T) {
	h := newTimed(t)
	const at = time.Minute
	h.alarm.Store(uint64(at / time.Millisecond))
	h.mustPass(at, 1, at)
	h.mustPass(Tick-time.Millisecond, 0, at)
	h.mustPass(time.Millisecond, 1, at+Tick)
	h.r.leader.dueMore.Store(true)
	h.mustPass(time.Millisecond, 1, at+Tick+time.Millisecond)
}

// TestBatchesOfClientsMoveTheTime: with client changes no beat is needed.
func TestBatchesOfClientsMoveTheTime(t *testing.T) {
	h := newTimed(t)
	h.alarm.Store(1 << 40)
	h.mustPass(time.Minute, 1, time.Minute)
	h.now.Add(int64(beatAfter - time.Millisecond))
	propose(t, h.r, shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 60_000, Slot: someSlot(h.r)})
	h.mustPass(beatAfter-time.Millisecond, 0, time.Minute+beatAfter-time.Millisecond)
	h.mustPass(time.Millisecond, 1, time.Minute+2*beatAfter-time.Millisecond)
}

// TestTimeStandsStillBetweenLeaders: the next leader counts from the time at which its first command was applied.
func TestTimeStandsStillBetweenLeaders(t *testing.T) {
	h := newTimed(t)
	h.alarm.Store(1 << 40)
	h.mustPass(time.Minute, 1, time.Minute)
	term := h.r.leader.stage().term
	h.r.leader.end()
	h.mustPass(time.Hour, 0, time.Minute)
	h.r.leader.begin(term + 1)
	h.mustPass(time.Hour, 0, time.Minute) // not started
	until(t, "the host leads", h.Set, func() { h.r.leader.run(h.Now()) }, h.r.leader.ready)
	h.mustPass(0, 0, time.Minute)
	h.mustPass(beatAfter, 1, time.Minute+beatAfter)
}

// TestBeatsAreCloserEarlyInATerm: a new leader may lose at most half of its time so far.
func TestBeatsAreCloserEarlyInATerm(t *testing.T) {
	h := newTimed(t)
	h.alarm.Store(1 << 40)
	h.mustPass(firstBeat-1, 0, 0)
	at := firstBeat
	h.mustPass(1, 1, at)
	for _, behind := range []time.Duration{1 * firstBeat, 2 * firstBeat, 4 * firstBeat, 8 * firstBeat,
		16 * firstBeat, beatAfter} {
		h.mustPass(behind-1, 0, at)
		at += behind
		h.mustPass(1, 1, at)
	}
}
