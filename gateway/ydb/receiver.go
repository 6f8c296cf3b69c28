package ydb

import (
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// receive handles what the client sends, until the stream is over. A client that does not read is not read.
func (s *stream) receive() {
	for {
		s.awaitRoom()
		m, err := s.rpc.Recv()
		if err != nil {
			s.end(ending{left: s.leftAfter(err)})
			return
		}
		s.known.Store(true)
		if err := s.handle(m); err != nil {
			s.end(ending{failure: failureOf(err).GetFailure()})
			return
		}
		if m.GetSessionStop() != nil {
			s.end(ending{stop: true})
			return
		}
	}
}

// paused returns whether so much waits for the client that it is not read.
func (s *stream) paused() bool { return s.outbox.full() || s.descriptions.full() }

// awaitRoom waits until the client has read enough of what waits for it, or the stream is over.
func (s *stream) awaitRoom() {
	for s.paused() {
		select {
		case <-s.outbox.room:
		case <-s.rpc.Context().Done():
			return
		}
	}
}

// leftAfter is how long a session lives on whose stream was not ended by the gateway. Where its client has ended the
// stream, it relies on the session no more, and the timeout that it asked for holds. Where the connection is lost, it
// may.
func (s *stream) leftAfter(err error) time.Duration {
	lost := s.call.from == nil || s.call.from.lost.Load()
	cancelled := errors.Is(err, io.EOF) || status.Code(err) == codes.Canceled
	if lost || !cancelled || strings.Contains(err.Error(), "connection") {
		return 0
	}
	return max(s.asked, time.Millisecond)
}
