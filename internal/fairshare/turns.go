package fairshare

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Turns limits the number of running calls. Further calls wait, and parties take turns: parties with and without a
// token alternate, then tokens, then addresses. So a party with few calls waits for at most one call from every other
// party, however many calls wait. Safe for concurrent use.
type Turns struct {
	limit    int
	patience time.Duration

	mu      sync.Mutex // guards the next fields, and the turns' fields
	running list.List  // elements are *Turn, ordered by start
	waiting Queue[*Turn]
	timer   *time.Timer
	armed   bool // the timer is to fire
}

// Turn is a call's turn.
type Turn struct {
	of    *Turns
	ready chan struct{} // closed when the turn comes; nil for a turn without a wait

	// Guarded by Turns.mu.
	began time.Time
	at    *list.Element // in Turns.running
	place *Place[*Turn] // in Turns.waiting; nil for a turn without a wait
}

// NewTurns returns turns for at most limit running calls. A call that has run longer than patience probably waits for a
// host, so the next call starts alongside. With patience 0, calls count until they end.
func NewTurns(limit int, patience time.Duration) *Turns {
	return &Turns{limit: limit, patience: patience}
}

// Take waits for a turn, which lasts until End. Take fails with the context's cause.
func (t *Turns) Take(ctx context.Context, by Party) (*Turn, error) {
	turn := &Turn{of: t}
	t.mu.Lock()
	if t.running.Len() < t.limit {
		turn.begin()
		t.mu.Unlock()
		return turn, nil
	}
	turn.ready = make(chan struct{})
	turn.place = t.waiting.Add(turn, by)
	t.arm()
	t.mu.Unlock()
	select {
	case <-turn.ready:
		return turn, nil
	case <-ctx.Done():
		turn.End()
		return nil, context.Cause(ctx)
	}
}

// End ends a turn. Further calls do nothing.
func (turn *Turn) End() {
	t := turn.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn.place != nil {
		turn.place.Leave()
	}
	if turn.at != nil {
		t.running.Remove(turn.at)
		turn.at = nil
		t.next()
	}
}

// begin has a call run. mu is held.
func (turn *Turn) begin() {
	turn.began = time.Now()
	turn.at = turn.of.running.PushBack(turn)
}

// next has waiting calls run. mu is held.
func (t *Turns) next() {
	for t.running.Len() < t.limit {
		turn, ok := t.waiting.Next(func(*Turn) bool { return true })
		if !ok {
			return
		}
		turn.begin()
		close(turn.ready)
	}
}

// arm schedules a check on running calls while others wait. mu is held.
func (t *Turns) arm() {
	if t.armed || t.patience == 0 {
		return
	}
	t.armed = true
	left := time.Until(t.running.Front().Value.(*Turn).began.Add(t.patience))
	if t.timer == nil {
		t.timer = time.AfterFunc(left, t.pass)
	} else {
		t.timer.Reset(left)
	}
}

// pass starts waiting calls alongside calls that have run longer than patience.
func (t *Turns) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = false
	for !t.waiting.Empty() {
		oldest := t.running.Front().Value.(*Turn)
		if time.Since(oldest.began) < t.patience {
			t.arm()
			return
		}
		t.running.Remove(oldest.at)
		oldest.at = nil
		t.next()
	}
}
