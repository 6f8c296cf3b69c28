package transport

import (
	"context"
	"time"
)

// search looks for a host that has not answered for redialFor, until that answers. Meanwhile the engine has a sender
// without a connection, and what it sends is dropped: Raft repeats all of it. After an error the engine would not dial
// for up to a second and a half, and a host that was cut off would be ready so much later.
type search struct {
	end   context.CancelFunc
	found chan finding // has one once the search is over
}

// finding is what a search ends with: a connection, or an error that another try would not mend.
type finding struct {
	*dialled
	err error
}

// searchFor begins a search.
func (e *engineEnd) searchFor(ctx context.Context, to Target) *search {
	ctx, cancel := context.WithCancel(ctx)
	s := &search{end: cancel, found: make(chan finding, 1)}
	go func() {
		defer cancel()
		d, err := e.redial(ctx, to, searchEvery, func() bool { return false })
		s.found <- finding{d, err}
	}()
	return s
}

// redial dials a host until it answers. It gives up where another try would fail in the same way, where enough says so,
// and when the context ends.
func (e *engineEnd) redial(ctx context.Context, to Target, every time.Duration, enough func() bool) (*dialled, error) {
	for {
		d, err := e.dialTarget(ctx, to)
		if err == nil || isLasting(err) || enough() {
			return d, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(every):
		}
	}
}

// close ends the search, and the connection that it may have found.
func (s *search) close() {
	s.end()
	if f := <-s.found; f.dialled != nil {
		f.dialled.close()
	}
}
