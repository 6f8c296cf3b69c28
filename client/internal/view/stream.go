package view

import (
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// stream is one watch at one host. What comes for one that is not the current one of its sharedWatch is dropped.
type stream struct{ watch *sharedWatch }

// Answered implements conn.Handler.
func (s *stream) Answered(from *conn.Conn, a *protocol.Answer) {
	w := s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != s || w.ended != nil {
		return
	}
	switch a.Kind {
	case protocol.KindWatch.Answer():
		s.end(a.Result.Err())
	case protocol.KindWatchSnapshot:
		if v := w.draft.page(&a.WatchSnapshot); v != nil {
			if w.view != nil {
				v.birth = w.view.birth
			}
			w.show(v)
		}
	case protocol.KindWatchDelta:
		var next *View
		if w.view != nil {
			next = w.view.after(&a.WatchDelta)
		}
		switch next {
		case nil:
			s.end(&failure.Transport{Address: from.Address(), Err: errBehind})
		case w.view:
		default:
			w.show(next)
		}
	case protocol.KindWatchEnd:
		err := a.WatchEnd.Result.Err()
		if err == nil {
			err = protocol.ErrUnavailable
		}
		s.end(err)
	}
}

// Lost implements conn.Handler.
func (s *stream) Lost(_ *conn.Conn, err error) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	if s.watch.current == s && s.watch.ended == nil {
		s.end(err)
	}
}

// end is the end of the stream, if there is a reason for one. The lock is held.
func (s *stream) end(err error) {
	if err == nil {
		return
	}
	s.watch.ended = err
	select {
	case s.watch.wake <- struct{}{}:
	default:
	}
}
