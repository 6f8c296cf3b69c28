package pipeline

import (
	"sync/atomic"
	"time"
)

// pace decides when the next batch is proposed while others may be in flight. The pipeline's lock guards it.
//
// A batch takes a round: every voter syncs the batch, and messages cross the network. If rounds are short, up to
// maxInflight batches are in flight, and the processor is the limit.
//
// If rounds are slow, the next batch waits for the callers that the last batch has answered. Most callers ask again at
// once. If the first of them had a batch alone, a disk would sync for one caller, and all other callers would wait.
// Slow disks also have one batch in flight at a time: the engine does nothing else while it syncs, and so it is ready
// when the answers of other voters arrive. If the network is slow, batches overlap.
type pace struct {
	sync     func() time.Duration // how long this host's disk takes for a sync; nil: not known
	round    time.Duration        // from the proposal of a batch until the shard applies it, on average
	rounds   Shortest             // of the rounds
	landed   time.Time            // when the last batch was applied
	expected int                  // how many commands the next batch has if all answered callers ask again
	arrived  time.Time            // when the latest command was seen since then
	queued   int                  // how many commands were queued then
	timer    *time.Timer          // ends the wait for callers
	waiting  bool                 // the timer runs
}

// Shortest is the shortest of the latest durations. A busy processor makes single rounds and syncs longer, but not all
// of them. Note has one caller at a time; Get may be called at any time.
type Shortest struct {
	of      atomic.Int64 // the shortest of the current and the last shortestOf durations
	current time.Duration
	noted   int
}

// Note records a duration.
func (s *Shortest) Note(took time.Duration) {
	if s.noted == 0 || took < s.current {
		s.current = took
	}
	if s.noted++; s.noted == shortestOf {
		s.of.Store(int64(s.current))
		s.noted = 0
	} else if s.current < s.Get() {
		s.of.Store(int64(s.current))
	}
}

// Get returns the shortest of the latest durations, 0 before there are enough.
func (s *Shortest) Get() time.Duration { return time.Duration(s.of.Load()) }

// slow returns whether rounds are so long that a wait for callers pays.
func (p *pace) slow() bool { return p.rounds.Get() >= slowRound }

// most returns how many batches may be in flight.
func (p *pace) most() int {
	if p.slow() && (p.sync == nil || p.sync() > p.rounds.Get()/diskShare) {
		return 1
	}
	return maxInflight
}

// scale returns how many quanta each source may have in a batch that light and heavy sources share. The longer a round
// takes, the less a larger batch adds to the round, and the more rounds a small batch would cost the heavy sources.
func (p *pace) scale() int { return 1 + int(min(p.rounds.Get()/slowRound, maxScale-1)) }

// due returns whether the next batch, with the given number of commands, may be proposed now. If only the wait for
// callers remains, due starts the timer that ends the wait.
func (p *pace) due(inflight, queued int, now func() time.Time) bool {
	if inflight >= p.most() {
		return false
	}
	if !p.slow() || queued >= p.expected {
		return true
	}
	at := now()
	if queued > p.queued {
		p.queued, p.arrived = queued, at
	}
	left := min(p.round/quietShare-at.Sub(p.arrived), p.round/waitShare-at.Sub(p.landed))
	if left <= 0 {
		return true
	}
	if !p.waiting {
		p.waiting = true
		p.timer.Reset(left)
	}
	return false
}

// note records the round of a batch that is now applied, while the given number of commands is queued.
func (p *pace) note(b *inflight, now time.Time, queued int) {
	took := now.Sub(b.proposed)
	p.round += (took - p.round) / 8
	p.rounds.Note(took)
	p.landed, p.arrived, p.queued, p.expected = now, now, queued, 0
	if b.whole { // otherwise callers already wait, and their share of a batch can go alone
		p.expected = queued + len(b.ops)
	}
}
