package process

import "context"

// turn is what a function of a handler has while it runs: there is one for each membership.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }

// holding is the turn of a function that gives it away while it waits. Where it waits in several goroutines it has the
// turn again when all of them go on.
type holding struct {
	turn turn
	lock chan struct{} // holds one; it is waited for while user code runs, so it is no sync.Mutex
	away int           // how many goroutines wait; guarded by lock, as what follows
	over bool          // the function has returned
}

type holdingKey struct{}

// hold takes the turn for a function that gets the context.
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

// Yield calls wait, which waits for something that other functions of the handler do, and lets them run meanwhile. It
// is for Coordinate, with its context; called with another one it only calls wait. Those that run meanwhile must not
// wait for Coordinate themselves.
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
