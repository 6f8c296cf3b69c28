package ydb

import (
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// receive handles the client's messages until the stream is over. If a client does not read, its messages wait.
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

// paused returns whether so much waits for the client that the gateway stops reading from the client.
func (s *stream) paused() bool { return s.outbox.full() || s.descriptions.full() }

// awaitRoom waits until the client has read enough waiting messages, or the stream is over.
func (s *stream) awaitRoom() {
	for s.paused() {
		select {
		case <-s.outbox.room:
		case <-s.rpc.Context().Done():
			return
		}
	}
}

// leftAfter is how long a session lives on after a stream not ended by the gateway. A client that has ended the
// stream does not rely on the session any more, so the timeout requested by the client holds. After the loss of a
// connection, the client may still rely on the session.
func (s *stream) leftAfter(err error) time.Duration {
	lost := s.call.from == nil || s.call.from.lost.Load()
	cancelled := errors.Is(err, io.EOF) || status.Code(err) == codes.Canceled
	if lost || !cancelled || strings.Contains(err.Error(), "connection") {
		return 0
	}
	return max(s.asked, time.Millisecond)
}
