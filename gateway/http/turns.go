package http

import (
	"context"
	"sync"
)

// turns let requests of one session follow each other: a session that is attached once more is over for the request
// before.
type turns struct {
	mu    sync.Mutex
	known map[uint64]*turn
}

// turn is that of one session.
type turn struct {
	taken chan struct{} // holds one while a request is under way
	users int           // requests that have it, or wait for it; guarded by turns.mu
}

// take waits for the turn of a session, until end is called.
func (tu *turns) take(ctx context.Context, session uint64) (end func(), err error) {
	tu.mu.Lock()
	if tu.known == nil {
		tu.known = make(map[uint64]*turn)
	}
	of := tu.known[session]
	if of == nil {
		of = &turn{taken: make(chan struct{}, 1)}
		tu.known[session] = of
	}
	of.users++
	tu.mu.Unlock()
	select {
	case of.taken <- struct{}{}:
		return func() {
			<-of.taken
			tu.leave(session, of)
		}, nil
	case <-ctx.Done():
		tu.leave(session, of)
		return nil, context.Cause(ctx)
	}
}

func (tu *turns) leave(session uint64, of *turn) {
	tu.mu.Lock()
	defer tu.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(tu.known, session)
	}
}
