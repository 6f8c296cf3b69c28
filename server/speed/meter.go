package speed

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
)

const (
	// window is the number of seconds the figures look back. Each figure is the median over the window: a short hiccup
	// changes nothing, and a lasting change shows after half the window.
	window = 8
	// least is the number of seconds a figure must be known.
	least = 3
	// tickEvery is the average time between two measured timers. The times vary: with a constant interval, a process
	// with processor time slices would always wake up at a slice start.
	tickEvery = 200 * time.Millisecond
	// stallWindow is how long a stall counts. A timer that is late by stalled, or a sync with the same duration, is a
	// stall.
	stallWindow = 2 * time.Minute
	stalled     = 262 * time.Millisecond
	// pingEvery is the time between two measured round trips, pingWithin the longest round trip. At most maxPeers hosts
	// are asked.
	pingEvery  = 2 * time.Second
	pingWithin = time.Second
	maxPeers   = 4
)

// Config configures a Meter. All fields are required.
type Config struct {
	Syncs *metrics.Histogram // log syncs
	// Ping returns when another host has answered, or at the end of the context.
	Ping func(ctx context.Context, peer shard.HostID) error
	// Peers returns the other hosts that should answer. The caller may change the list.
	Peers func() []shard.HostID
}

// Meter measures the host's speed. Any goroutine may call Figures.
type Meter struct {
	config Config

	mu      sync.Mutex // guards the fields below
	seconds [window]second
	next    int // position in seconds
	began   time.Time
	late    time.Duration // timer lateness in the current second
	ticks   int
	round   time.Duration // last round trip in the current second, 0 for none
	synced  uint64        // sync totals at the start of the current second
	syncing time.Duration
	long    uint64
	stalls  []time.Time // seconds with a stall, oldest first
	alone   bool        // no other hosts to compare with
}

// second has the figures for one second. 0 means unknown.
type second struct{ sync, delay, round time.Duration }

// New returns a meter, which measures nothing before Run.
func New(c Config) *Meter { return &Meter{config: c} }

// Run measures until the context ends.
func (m *Meter) Run(ctx context.Context) {
	var pings sync.WaitGroup
	pings.Go(func() { m.pingPeers(ctx) })
	defer pings.Wait()
	m.start(time.Now())
	timer := time.NewTimer(tickEvery)
	defer timer.Stop()
	for due := time.Now().Add(tickEvery); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := time.Now()
		m.tick(now, now.Sub(due))
		wait := m.pause()
		due = time.Now().Add(wait)
		timer.Reset(wait)
	}
}

// pause returns the time until the next timer. A host without other hosts is not compared, and saves the wake-ups.
func (m *Meter) pause() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alone {
		return pingEvery
	}
	return tickEvery/2 + rand.N(tickEvery)
}

// start begins the first second.
func (m *Meter) start(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began = now
	m.synced, m.syncing, m.long = m.config.Syncs.Totals()
}

// tick records a timer that has fired late by the given time.
func (m *Meter) tick(now time.Time, late time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.late += max(late, 1)
	m.ticks++
	if now.Sub(m.began) < time.Second && late < stalled {
		return
	}
	s := second{delay: m.late / time.Duration(m.ticks), round: m.round}
	synced, syncing, long := m.config.Syncs.Totals()
	if n := synced - m.synced; n > 0 {
		s.sync = (syncing - m.syncing) / time.Duration(n)
	}
	if late >= stalled || long > m.long {
		m.stalls = append(m.stalls, now)
	}
	m.stalls = slices.DeleteFunc(m.stalls, func(t time.Time) bool { return now.Sub(t) > stallWindow })
	m.seconds[m.next] = s
	m.next = (m.next + 1) % window
	m.began, m.late, m.ticks, m.round = now, 0, 0, 0
	m.synced, m.syncing, m.long = synced, syncing, long
}

// pingPeers measures round trips until the context ends.
func (m *Meter) pingPeers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pingEvery):
		}
		peers := m.config.Peers()
		m.setAlone(len(peers) == 0)
		if len(peers) == 0 {
			continue
		}
		rand.Shuffle(len(peers), func(i, k int) { peers[i], peers[k] = peers[k], peers[i] })
		m.pinged(m.ask(ctx, peers[:min(len(peers), maxPeers)]))
	}
}

func (m *Meter) setAlone(alone bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alone = alone
}

// ask returns how long peers took to answer; pingWithin for a host without an answer.
func (m *Meter) ask(ctx context.Context, peers []shard.HostID) []time.Duration {
	within, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	times := make([]time.Duration, len(peers))
	var asking sync.WaitGroup
	for i, peer := range peers {
		asking.Go(func() {
			began := time.Now()
			if times[i] = pingWithin; m.config.Ping(within, peer) == nil {
				times[i] = time.Since(began)
			}
		})
	}
	asking.Wait()
	return times
}

// pinged records a round: the time until a majority has answered. A single slow or dead peer changes nothing.
func (m *Meter) pinged(times []time.Duration) {
	slices.Sort(times)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.round = max(times[(len(times)-1)/2], 1)
}

// Figures returns the host's speed.
func (m *Meter) Figures() governor.Speed {
	m.mu.Lock()
	defer m.mu.Unlock()
	median := func(of func(*second) time.Duration) uint64 {
		var list []time.Duration
		for i := range m.seconds {
			if d := of(&m.seconds[i]); d > 0 {
				list = append(list, d)
			}
		}
		if len(list) < least {
			return 0
		}
		slices.Sort(list)
		return uint64(max(list[len(list)/2].Microseconds(), 1))
	}
	return governor.Speed{
		Sync:   median(func(s *second) time.Duration { return s.sync }),
		Delay:  median(func(s *second) time.Duration { return s.delay }),
		Round:  median(func(s *second) time.Duration { return s.round }),
		Stalls: uint64(len(m.stalls)),
	}
}
