package pipeline

import "time"

// pace decides when the next batch is proposed while others may be in flight. The lock of the pipeline guards it.
//
// A batch takes a round: each voter syncs the batch, and messages cross the network. If rounds are short, up to
// maxInflight batches are in flight, and the processor is the limit.
//
// If rounds are slow, one batch is in flight, and the next batch waits for the callers that the last batch has
// answered. Most callers ask again at once. If the first of them had a batch alone, all others would wait for its round
// before their own round begins. With one batch at a time the engine is also ready when the answers of other voters
// arrive: it does nothing else while it syncs.
type pace struct {
	round    time.Duration // from the proposal of a batch until the shard applies it, on average
	shortest time.Duration // the shortest round of the current and the last slowRounds batches
	current  time.Duration // the shortest round of the current batches
	rounds   int           // counts the current batches
	landed   time.Time     // when the last batch was applied
	expected int           // how many commands the next batch has if all answered callers ask again
	arrived  time.Time     // when the latest command was seen since then
	queued   int           // how many commands were queued then
	timer    *time.Timer   // ends the wait for callers
	waiting  bool          // the timer runs
}

// slow returns whether rounds are so long that a wait for callers pays.
func (p *pace) slow() bool { return p.shortest >= slowRound }

// due returns whether the next batch, of so many commands, may be proposed now. If only the wait for callers is left,
// due starts the timer that ends the wait.
func (p *pace) due(inflight, queued int, now func() time.Time) bool {
	if !p.slow() {
		return inflight < maxInflight
	}
	if inflight > 0 {
		return false
	}
	if queued >= p.expected {
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

// note records the round of a batch that is applied now, while so many commands are queued.
func (p *pace) note(b *inflight, now time.Time, queued int) {
	took := now.Sub(b.proposed)
	p.round += (took - p.round) / 8
	if p.rounds == 0 || took < p.current {
		p.current = took
	}
	if p.rounds++; p.rounds == slowRounds {
		p.shortest, p.rounds = p.current, 0
	}
	p.shortest = min(p.shortest, p.current)
	p.landed, p.arrived, p.queued, p.expected = now, now, queued, 0
	if b.whole { // else callers wait already, and their share of a batch needs no company
		p.expected = queued + len(b.ops)
	}
}
