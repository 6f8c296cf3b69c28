package process

import "context"

// turn is a handler function's right to run. A membership has one turn, so one function runs at a time.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }

// holding is the turn of a function that gives the turn away while waiting. If a function waits in several goroutines,
// the function has the turn again once all goroutines continue.
type holding struct {
	turn turn
	lock chan struct{} // capacity 1; not a sync.Mutex, because user code runs during the wait
	away int           // how many goroutines wait; lock guards away and over
	over bool          // the function has returned
}

type holdingKey struct{}

// hold takes the turn for a function, which gets the returned context.
func (t turn) hold(ctx context.Context) (context.Context, *holding) {
	h := &holding{turn: t, lock: make(chan struct{}, 1)}
	t.take()
	return context.WithValue(ctx, holdingKey{}, h), h
}

// end gives the turn back for good.
func (h *holding) end() {
	h.lock <- struct{}{}
	h.over = true
	if h.away == 0 {
		h.turn.give()
	}
	<-h.lock
}

func (h *holding) leave() {
	h.lock <- struct{}{}
	if h.away++; h.away == 1 && !h.over {
		h.turn.give()
	}
	<-h.lock
}

func (h *holding) comeBack() {
	h.lock <- struct{}{}
	if h.away--; h.away == 0 && !h.over {
		h.turn.take()
	}
	<-h.lock
}

// Yield calls wait and lets other handler functions run meanwhile, so wait can wait for their work. Yield is for
// Coordinate, with Coordinate's context; with any other context, Yield only calls wait. Functions that run meanwhile
// must not wait for Coordinate.
func Yield(ctx context.Context, wait func()) {
	h, _ := ctx.Value(holdingKey{}).(*holding)
	if h == nil {
		wait()
		return
	}
	h.leave()
	defer h.comeBack()
	wait()
}
