//go:build linux

package chaos

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

const (
	// searchPause is the pause between two searches for a partial snapshot: there is one for some ten milliseconds.
	searchPause = 3 * time.Millisecond
	// searchTime is how long one activity is searched for, before any activity will do.
	searchTime = 4 * time.Second
	// searchRate is how many bytes a second pass between hosts over a connection while a snapshot that goes from host
	// to host is searched for: a chunk of a snapshot takes a while then, and other messages are hardly slower.
	searchRate = 4 << 20
)

// killInSnapshots kills hosts that save, receive or send a snapshot, a moment after that has begun, and now and then
// once more when they have just been started. There is a pause after each, so that there are snapshots in the end.
func (t *trial) killInSnapshots(ctx context.Context) {
	random := t.act.random(3)
	for workload.Sleep(ctx, workload.UpTo(random, 5*time.Second)) {
		t.killInSnapshot(ctx, random)
	}
}

// killInSnapshot kills a host, and waits until it has started again.
func (t *trial) killInSnapshot(ctx context.Context, random *rand.Rand) {
	wanted, release := workload.Pick(random, Saving, Receiving, Sending), func() {}
	if wanted != Saving {
		t.isolateFollower(ctx, random)
		release = forEach(t.network.all(), func(w *Wire) func() { return w.Throttle(searchRate) })
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

// isolateFollower isolates a host that does not lead, for long enough that it is mostly sent a snapshot afterwards.
func (t *trial) isolateFollower(ctx context.Context, random *rand.Rand) {
	lag := time.Second + workload.UpTo(random, 5*time.Second)
	f := Fault{Kind: Lag, At: t.record.Now(), For: lag, Order: random.Perm(hosts)}
	if f.host() == t.cluster.leader() {
		f.Order[0], f.Order[1] = f.Order[1], f.Order[0]
	}
	t.inject(ctx, f, func() func() { return t.beginOnWires(f) })
}

// findSnapshot waits until a host does what is wanted with a snapshot, or after a while anything, and returns the host;
// negative where the context has ended.
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

// startTime is about what a host needs until it serves.
const startTime = 500 * time.Millisecond

// crashAgain kills a host; where again is not zero it is killed once more so long after its start.
func (t *trial) crashAgain(h int, again time.Duration) (end func()) {
	restart := t.crash(h)
	if restart == nil || again == 0 {
		return restart
	}
	return func() {
		defer restart()
		if err := t.cluster.start(h); err != nil {
			return // the restart reports it
		}
		time.Sleep(again)
		code, _ := t.cluster.host(h).Get("/health/ready")
		if code != http.StatusOK && completeSnapshots(t.cluster.places[h].Dir) > 0 {
			t.cluster.countActivities(Loading)
		}
		t.cluster.kill(h)
	}
}
