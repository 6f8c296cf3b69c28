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
	// lookForSnapshots is how often the hunter looks for one that is not complete: they are for some ten milliseconds.
	lookForSnapshots = 3 * time.Millisecond
	// huntFor is how long it looks for what it is after, before it takes whatever comes.
	huntFor = 4 * time.Second
	// huntRate is how many bytes of a connection pass between hosts in a second while it is after one that goes from
	// host to host: a piece of a snapshot takes a while then, and what else they say hardly notices.
	huntRate = 4 << 20
)

// hunt kills whoever saves, receives or sends a snapshot, a moment after it has begun, and now and then once more when
// it has just been started. One that was killed is left alone for a while when it is back, so that there are snapshots
// in the end.
func (s *stage) hunt(ctx context.Context) {
	dice := s.act.dice(3)
	for workload.Sleep(ctx, workload.UpTo(dice, 5*time.Second)) {
		s.huntOne(ctx, dice)
	}
}

// huntOne kills a host, and waits until it is back.
func (s *stage) huntOne(ctx context.Context, dice *rand.Rand) {
	wanted, release := workload.Pick(dice, Saving, Receiving, Sending), func() {}
	if wanted != Saving {
		s.letLag(ctx, dice)
		release = each(s.network.all(), func(l *Link) func() { return l.Throttle(huntRate) })
		defer release()
	}
	h := s.track(ctx, wanted)
	if h < 0 || !workload.Sleep(ctx, workload.UpTo(dice, 2*lookForSnapshots)) {
		return
	}
	f := Fault{Kind: KillSaving, At: s.journal.clock.Now(), For: workload.UpTo(dice, workload.Pick(dice, time.Second, 3*time.Second)), Order: []int{h}}
	again := time.Duration(0)
	if dice.IntN(2) == 0 {
		again = workload.UpTo(dice, startTime)
	}
	s.suffer(ctx, f, func() func() {
		defer release()
		return s.crashAgain(h, again)
	})
}

// letLag cuts a host off that does not lead, for long enough that it is mostly sent a snapshot afterwards.
func (s *stage) letLag(ctx context.Context, dice *rand.Rand) {
	f := Fault{Kind: Lag, At: s.journal.clock.Now(), For: time.Second + workload.UpTo(dice, 5*time.Second), Order: dice.Perm(hosts)}
	if f.host() == s.cluster.leader() {
		f.Order[0], f.Order[1] = f.Order[1], f.Order[0]
	}
	s.suffer(ctx, f, func() func() { return hold(s.touching(f.host()), bothWays...) })
}

// track waits until a host does what is wanted, or after a while anything with a snapshot, and returns the host;
// negative where the time is up.
func (s *stage) track(ctx context.Context, wanted Moment) int {
	for began := time.Now(); workload.Sleep(ctx, lookForSnapshots); {
		for i, p := range s.cluster.places {
			for _, u := range unfinishedIn(p.Dir) {
				s.cluster.saw(u)
				h, is := i, Saving
				if u.received {
					is = Receiving
					if wanted == Sending {
						h, is = u.from, Sending
					}
				}
				if (is == wanted || time.Since(began) > huntFor) && s.cluster.idle(h) {
					return h
				}
			}
		}
	}
	return -1
}

// startTime is about what a host needs until it serves.
const startTime = 500 * time.Millisecond

// crashAgain kills a host; where it is to be killed again, that happens so long after it was started.
func (s *stage) crashAgain(h int, again time.Duration) (heal func()) {
	back := s.crash(h)
	if back == nil || again == 0 {
		return back
	}
	return func() {
		defer back()
		if err := s.cluster.start(h); err != nil {
			return // it fails again
		}
		time.Sleep(again)
		if code, _ := s.cluster.host(h).Get("/health/ready"); code != http.StatusOK && complete(s.cluster.places[h].Dir) > 0 {
			s.cluster.interrupted(Loading)
		}
		s.cluster.kill(h)
	}
}
