package transport

import (
	"context"
	"time"
)

// search dials a host that has not answered for redialFor, until the host answers. Meanwhile the engine has a sender
// without a connection, and messages for the host are dropped: Raft repeats them. After an error the engine would not
// dial for up to 1.5 seconds, which would delay a partitioned host's return by that time.
type search struct {
	end   context.CancelFunc
	found chan finding // has an element once the search is over
}

// finding is a search result: a connection, or an error no further attempt can fix.
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

// redial dials a host until it answers. The function stops after an error that would come again, when enough returns
// true, and when the context ends.
func (e *engineEnd) redial(ctx context.Context, to Target, every time.Duration, enough func() bool) (*dialled, error) {
	for {
		d, err := e.dialTarget(ctx, to)
		if err == nil || isLasting(err) || enough() {
			return d, err
		}
		if !sleep(ctx, every) {
			return nil, err
		}
	}
}

// close ends the search, and closes a connection it found.
func (s *search) close() {
	s.end()
	if f := <-s.found; f.dialled != nil {
		f.dialled.close()
	}
}
