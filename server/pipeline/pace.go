package pipeline

import (
	"time"

	"github.com/signalbox/signalbox/server/metrics"
)

// pace decides when the next batch is proposed while others may be in flight. The pipeline's lock guards it.
//
// A batch takes a round: every voter syncs the batch, and messages cross the network. If rounds are short, up to
// maxInflight batches are in flight, and the processor is the limit.
//
// If rounds are slow, the next batch waits for the callers that the last batch has answered. Most callers ask again
// immediately. If the first caller had a batch alone, a disk would sync for one caller, and all other callers would
// wait. With a slow disk, only one batch is in flight at a time: the engine does nothing else while it syncs, so it
// is ready when the other voters' answers arrive. With a slow network, batches overlap.
type pace struct {
	syncs    *metrics.Histogram // sync times of the host's log; nil: unknown
	round    time.Duration      // average time from a batch's proposal until the shard applies it
	shortest time.Duration      // minimum of the current and the last shortestOf rounds
	current  time.Duration      // minimum of the current rounds
	rounds   int                // number of the current rounds
	disk     bool               // log syncs are a large part of a round, or their times are unknown
	synced   uint64             // number of the log's syncs when the current rounds began
	syncing  time.Duration      // the sum of their times
	landed   time.Time          // when the last batch was applied
	expected int                // commands in the next batch if all answered callers ask again
	arrived  time.Time          // when the latest command was seen since then
	queued   int                // number of commands queued then
	timer    *time.Timer        // ends the wait for callers
	waiting  bool               // the timer is running
}

// slow returns whether rounds are so long that waiting for callers pays off.
func (p *pace) slow() bool { return p.shortest >= slowRound }

// most returns the maximum number of batches in flight.
func (p *pace) most() int {
	if p.slow() && p.disk {
		return 1
	}
	return maxInflight
}

// scale returns how many quanta a source may have in a batch that light and heavy sources share. The longer a round
// takes, the less a larger batch prolongs the round, and the more rounds a small batch would cost the heavy sources.
func (p *pace) scale() int { return 1 + int(min(p.shortest/slowRound, maxScale-1)) }

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
	if p.rounds == 0 || took < p.current {
		p.current = took
	}
	if p.rounds++; p.rounds == shortestOf {
		p.shortest, p.rounds = p.current, 0
		p.measureDisk()
	}
	p.shortest = min(p.shortest, p.current)
	p.landed, p.arrived, p.queued, p.expected = now, now, queued, 0
	if b.whole { // otherwise callers already wait, and their share of a batch can go alone
		p.expected = queued + len(b.ops)
	}
}

// measureDisk compares the sync times since the last call with the shortest round.
func (p *pace) measureDisk() {
	if p.disk = p.syncs == nil; p.disk {
		return
	}
	synced, syncing, _ := p.syncs.Totals()
	if n := synced - p.synced; n > 0 {
		p.disk = (syncing-p.syncing)/time.Duration(n) > p.shortest/diskShare
	}
	p.synced, p.syncing = synced, syncing
}
