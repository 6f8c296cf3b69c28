//go:build linux

package chaos

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/signalbox/signalbox/test/wire"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// searchPause is the pause between searches for a partial snapshot, which exists for about ten milliseconds.
	searchPause = 3 * time.Millisecond
	// searchTime is the time to search for one activity before any activity is accepted.
	searchTime = 4 * time.Second
	// searchRate is the bandwidth per connection between hosts, in bytes per second, during a search for a snapshot
	// transfer: it slows down snapshot chunks, but hardly other messages.
	searchRate = 4 << 20
)

// killInSnapshots kills hosts shortly after they start to save, receive or send a snapshot, and sometimes again right
// after their restart. Pauses let snapshots complete eventually.
func (t *trial) killInSnapshots(ctx context.Context) {
	random := t.act.random(3)
	for workload.Sleep(ctx, workload.UpTo(random, 5*time.Second)) {
		t.killInSnapshot(ctx, random)
	}
}

// killInSnapshot kills a host, and waits for its restart.
func (t *trial) killInSnapshot(ctx context.Context, random *rand.Rand) {
	wanted, release := workload.Pick(random, Saving, Receiving, Sending), func() {}
	if wanted != Saving {
		t.isolateFollower(ctx, random)
		release = forEach(t.network.All(), func(w *wire.Wire) func() { return w.Throttle(searchRate) })
		defer release()
	}
	h := t.findSnapshot(ctx, wanted)
	if h < 0 || !workload.Sleep(ctx, workload.UpTo(random, 2*searchPause)) {
		return
	}
	f := Fault{
		Kind: KillSaving, At: t.record.Now(), Order: []int{h},
		For: workload.UpTo(random, workload.Pick(random, time.Second, 3*time.Second)),
	}
	again := time.Duration(0)
	if random.IntN(2) == 0 {
		again = workload.UpTo(random, startTime)
	}
	t.inject(ctx, f, func() func() {
		defer release()
		return t.crashAgain(h, again)
	})
}

// isolateFollower isolates a non-leader, mostly for long enough that it is sent a snapshot afterwards.
func (t *trial) isolateFollower(ctx context.Context, random *rand.Rand) {
	lag := time.Second + workload.UpTo(random, 5*time.Second)
	f := Fault{Kind: Lag, At: t.record.Now(), For: lag, Order: random.Perm(hosts)}
	if f.host() == t.cluster.leader() {
		f.Order[0], f.Order[1] = f.Order[1], f.Order[0]
	}
	t.inject(ctx, f, func() func() { return t.beginOnWires(f) })
}

// findSnapshot waits until a host has the wanted snapshot activity, or after a while any activity, and returns the
// host; negative if the context has ended.
func (t *trial) findSnapshot(ctx context.Context, wanted Activity) int {
	for began := time.Now(); workload.Sleep(ctx, searchPause); {
		for i, p := range t.cluster.places {
			for _, u := range partialSnapshotsIn(p.Dir) {
				t.cluster.sawSnapshot(u)
				h, is := i, Saving
				if u.received {
					is = Receiving
					if wanted == Sending {
						h, is = u.from, Sending
					}
				}
				if (is == wanted || time.Since(began) > searchTime) && t.cluster.idle(h) {
					return h
				}
			}
		}
	}
	return -1
}

// startTime is the approximate start time of a host.
const startTime = 500 * time.Millisecond

// crashAgain kills a host; if again is not zero, it is killed again that long after its restart.
func (t *trial) crashAgain(h int, again time.Duration) (end func()) {
	restart := t.crash(h)
	if restart == nil || again == 0 {
		return restart
	}
	return func() {
		defer restart()
		if err := t.cluster.start(h); err != nil {
			return // reported by the restart
		}
		time.Sleep(again)
		code, _ := t.cluster.host(h).Get("/health/ready")
		if code != http.StatusOK && completeSnapshots(t.cluster.places[h].Dir) > 0 {
			t.cluster.countActivities(Loading)
		}
		t.cluster.kill(h)
	}
}
