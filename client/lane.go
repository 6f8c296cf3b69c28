package client

import (
	"context"
	"slices"
)

// lane is what a session does with one semaphore. At most one mutation of it is under way; others wait for
// their turn here, first come, first served. It is guarded by the lock of its life.
type lane struct {
	name  string
	busy  bool
	turns []chan struct{} // those who wait for their turn; each is closed when it has come

	waiting *mutation // the acquire that is queued at the host
	lease   *Lease    // what the session owns
	// early is a loss that was told before the acquire that it is about was answered.
	early earlyLoss
}

type earlyLoss struct {
	order uint64
	cause error
}

// enter waits for the turn of a mutation of that semaphore. Who has it calls leave.
func (x *life) enter(ctx context.Context, name string) (*lane, error) {
	x.mu.Lock()
	if x.cause != nil {
		defer x.mu.Unlock()
		return nil, x.cause
	}
	l := x.lanes[name]
	if l == nil {
		l = &lane{name: name}
		x.lanes[name] = l
	}
	if !l.busy {
		l.busy = true
		x.mu.Unlock()
		return l, nil
	}
	turn := make(chan struct{})
	l.turns = append(l.turns, turn)
	x.mu.Unlock()
	var err error
	select {
	case <-turn:
		return l, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-x.ctx.Done():
		err = context.Cause(x.ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := slices.Index(l.turns, turn); i >= 0 {
		l.turns = slices.Delete(l.turns, i, i+1)
	} else {
		x.pass(l)
	}
	return nil, err
}

// leave ends a turn.
func (x *life) leave(l *lane) {
	x.mu.Lock()
	x.pass(l)
	x.mu.Unlock()
}

// pass gives the turn to the next, or lets go of a lane that is of no use any more. The lock is held.
func (x *life) pass(l *lane) {
	if len(l.turns) > 0 {
		turn := l.turns[0]
		l.turns[0] = nil
		l.turns = l.turns[1:]
		close(turn)
		return
	}
	l.busy = false
	l.early = earlyLoss{}
	x.tidy(l)
}

// tidy forgets a lane in which nothing is. The lock is held.
func (x *life) tidy(l *lane) {
	if !l.busy && l.waiting == nil && l.lease == nil && x.lanes[l.name] == l {
		delete(x.lanes, l.name)
	}
}
