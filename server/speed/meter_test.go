package speed

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
)

// bed is a meter in virtual time, with a disk and peers as a test sets them.
type bed struct {
	*Meter
	syncs *metrics.Histogram

	mu    sync.Mutex
	peers map[shard.HostID]time.Duration // below zero: no answer; guarded by mu
}

// peer sets how long a peer takes to answer.
func (b *bed) peer(id shard.HostID, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.peers[id] = d
}

func play(t *testing.T, test func(t *testing.T, b *bed)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bed{syncs: metrics.NewHistogram("x", ""), peers: make(map[shard.HostID]time.Duration)}
		b.Meter = New(Config{Syncs: b.syncs,
			Ping: func(ctx context.Context, peer shard.HostID) error {
				b.mu.Lock()
				d := b.peers[peer]
				b.mu.Unlock()
				if d < 0 {
					<-ctx.Done()
					return errors.New("no answer")
				}
				select {
				case <-time.After(d):
				case <-ctx.Done():
				}
				return ctx.Err()
			},
			Peers: func() []shard.HostID {
				b.mu.Lock()
				defer b.mu.Unlock()
				return slices.Collect(maps.Keys(b.peers))
			}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			b.Run(ctx)
			close(ended)
		}()
		test(t, b)
		stop()
		<-ended
	})
}

// sync lets the log sync again and again, one sync after the other, for some time.
func (b *bed) sync(each, span time.Duration) {
	for until := time.Now().Add(span); time.Now().Before(until); time.Sleep(each) {
		b.syncs.Observe(int64(each))
	}
}

func TestNothingIsKnownAtFirst(t *testing.T) {
	play(t, func(t *testing.T, b *bed) {
		b.sync(time.Millisecond, 2*time.Second)
		if s := b.Figures(); s != (governor.Speed{}) {
			t.Errorf("%+v", s)
		}
	})
}

// TestSyncTimeFollowsTheDisk within half of the window, however many fast syncs there were before.
func TestSyncTimeFollowsTheDisk(t *testing.T) {
	play(t, func(t *testing.T, b *bed) {
		b.peer(2, time.Millisecond)
		b.peer(3, time.Millisecond)
		b.sync(time.Millisecond, 20*time.Second)
		if s := b.Figures(); s.Sync != 1000 || s.Round != 1000 || s.Delay == 0 || s.Stalls != 0 {
			t.Errorf("a fast disk: %+v", s)
		}
		b.sync(50*time.Millisecond, 8*time.Second)
		if s := b.Figures(); s.Sync != 50_000 {
			t.Errorf("a slow disk: %+v", s)
		}
		b.sync(time.Millisecond, 8*time.Second)
		if s := b.Figures(); s.Sync != 1000 {
			t.Errorf("a disk that has recovered: %+v", s)
		}
		time.Sleep(time.Minute)
		if s := b.Figures(); s.Sync != 0 {
			t.Errorf("a disk without work: %+v", s)
		}
	})
}

// TestStallsAreCounted: a stall changes no other figure, and is forgotten after some minutes.
func TestStallsAreCounted(t *testing.T) {
	play(t, func(t *testing.T, b *bed) {
		b.peer(2, time.Millisecond)
		for n := range uint64(3) {
			b.sync(time.Millisecond, 10*time.Second)
			b.sync(time.Second, time.Second)
			time.Sleep(2 * time.Second)
			if s := b.Figures(); s.Stalls != n+1 || s.Sync != 1000 {
				t.Errorf("after %d stalls: %+v", n+1, s)
			}
		}
		b.sync(time.Millisecond, stallWindow)
		if s := b.Figures(); s.Stalls != 0 {
			t.Errorf("some minutes later: %+v", s)
		}
	})
}

// TestRoundIsThatOfAMajority: the answers that a leader waits for.
func TestRoundIsThatOfAMajority(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		peers []time.Duration
		want  uint64
	}{
		"three hosts, one of them far":      {[]time.Duration{ms, 50 * ms}, 1_000},
		"three hosts, this one far":         {[]time.Duration{50 * ms, 51 * ms}, 50_000},
		"three hosts, one of them dead":     {[]time.Duration{ms, -1}, 1_000},
		"five hosts, two of them far":       {[]time.Duration{ms, ms, 50 * ms, 50 * ms}, 1_000},
		"five hosts, three of them far":     {[]time.Duration{ms, 50 * ms, 50 * ms, 50 * ms}, 50_000},
		"two hosts, no answer of the other": {[]time.Duration{-1}, 1_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, b *bed) {
				for i, d := range c.peers {
					b.peer(shard.HostID(i+2), d)
				}
				time.Sleep(20 * time.Second)
				if s := b.Figures(); s.Round != c.want {
					t.Errorf("%+v, want %d", s, c.want)
				}
			})
		})
	}
}

// TestLatenessOfTimersIsTheDelay: ticks as a process without processor time makes them.
func TestLatenessOfTimersIsTheDelay(t *testing.T) {
	m := New(Config{Syncs: metrics.NewHistogram("x", "")})
	now := time.Unix(0, 0)
	m.start(now)
	run := func(late time.Duration, seconds int) {
		for range 5 * seconds {
			now = now.Add(tickEvery + late)
			m.tick(now, late)
		}
	}
	run(time.Millisecond, 20)
	if s := m.Figures(); s.Delay != 1000 || s.Stalls != 0 {
		t.Errorf("enough processor time: %+v", s)
	}
	run(48*time.Millisecond, 8)
	if s := m.Figures(); s.Delay != 48_000 || s.Stalls != 0 {
		t.Errorf("too little processor time: %+v", s)
	}
	run(time.Millisecond, 20)
	m.tick(now.Add(3*time.Second), 3*time.Second)
	if s := m.Figures(); s.Delay != 1000 || s.Stalls != 1 {
		t.Errorf("the process was stopped: %+v", s)
	}
}
