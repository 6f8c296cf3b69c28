package view

import (
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// errOtherKind: the host passed over the kind in the request, and watches a semaphore.
var errOtherKind = &protocol.Error{
	Status:  protocol.StatusUnsupported,
	Message: "the host does not support object kinds, and watches a semaphore with the name",
}

// stream is one watch at one host. Messages for any stream except the sharedWatch's current stream are dropped.
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
		if err := a.Result.Err(); err != nil || a.Watch.ObjectKind == w.key.Kind {
			s.end(err)
			return
		}
		s.end(errOtherKind)
	case protocol.KindWatchSnapshot:
		if v := w.draft.page(&a.WatchSnapshot); v != nil {
			if w.view != nil {
				v.birth, v.whole = w.view.birth, w.view.whole+1
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

// end ends the stream if err is not nil. The lock is held.
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
