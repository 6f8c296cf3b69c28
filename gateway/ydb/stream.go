package ydb

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// maxQueued is how many messages may wait to be sent over one stream.
	maxQueued = 4096
	// maxSpare is for how many of them a stream keeps room.
	maxSpare = 64
)

type (
	request  = Ydb_Coordination.SessionRequest
	response = Ydb_Coordination.SessionResponse
)

// stream is one attach of one session of an SDK. The goroutine of the call sends, and decides when it is over; another
// one receives.
type stream struct {
	gateway  *Gateway
	rpc      Ydb_Coordination_V1.CoordinationService_SessionServer
	call     call
	ticket   *ticket
	session  *raw.Session
	reliance time.Duration // for how long an SDK may rely on the session after it has got a message
	asked    time.Duration // the timeout that it asked for
	pings    pings
	ended    chan ending // holds the first reason to end
	orphan   bool        // the session was made for this stream, and nothing about it was sent yet

	mu      sync.Mutex // guards what follows
	queue   []*response
	spare   []*response   // that was sent, and is empty
	wake    chan struct{} // there is something to send; holds one
	numbers numbers
}

// ending is why a stream is over.
type ending struct {
	failure *Ydb_Coordination.SessionResponse_Failure // the last message; nil for none
	stop    bool                                      // the client has asked for the end of its session
	left    time.Duration                             // to the session; 0 for all that it has
}

// Session is the stream of a session.
func (g *Gateway) Session(rpc Ydb_Coordination_V1.CoordinationService_SessionServer) error {
	c, err := g.callOf(rpc.Context())
	if !g.enter(c.address) {
		return status.Error(codes.Unavailable, "this gateway goes away, or has as many sessions as it may have")
	}
	defer g.leave(c.address)
	first, recvErr := rpc.Recv()
	if recvErr != nil {
		return recvErr
	}
	start := first.GetSessionStart()
	if start == nil {
		return status.Error(codes.InvalidArgument, "the first message is not a session_start")
	}
	s := &stream{
		gateway: g, rpc: rpc, call: c, ended: make(chan ending, 1), wake: make(chan struct{}, 1),
	}
	if err == nil {
		err = s.open(start)
	}
	if err != nil {
		return s.refuse(err)
	}
	defer g.tickets.leave(c.ticket, s.ticket)
	return s.run()
}

// open starts or attaches the session that the first message asks for.
func (s *stream) open(m *Ydb_Coordination.SessionRequest_SessionStart) (err error) {
	if err := checkStart(m); err != nil {
		return err
	}
	path := pathOf(m.Path)
	if !s.call.below(path) {
		return &failed{Ydb.StatusIds_NOT_FOUND, "the path is not below the database " + s.call.database}
	}
	ctx := s.rpc.Context()
	if s.ticket, err = s.gateway.tickets.use(ctx, s.call.ticket); err != nil {
		return err
	}
	s.asked = time.Duration(m.TimeoutMillis) * time.Millisecond
	s.reliance = relianceOf(s.asked)
	p := raw.Params{
		Path: path, Timeout: s.gateway.timing.timeoutOf(s.reliance), Description: m.Description,
		Key: m.ProtectionKey, Sequence: m.SeqNo, Over: s.sessionOver,
	}
	s.numbers.begin(m.SeqNo)
	if m.SessionId == 0 {
		s.orphan = true
		s.session, err = s.ticket.raw.Start(ctx, p)
	} else {
		s.session, err = s.ticket.raw.Attach(ctx, m.SessionId, p)
	}
	if err != nil {
		s.gateway.tickets.leave(s.call.ticket, s.ticket)
		return err
	}
	s.pings.period = s.gateway.timing.periodOf(s.asked)
	s.send(&response{Response: &Ydb_Coordination.SessionResponse_SessionStarted_{
		SessionStarted: &Ydb_Coordination.SessionResponse_SessionStarted{
			SessionId: s.session.ID(), TimeoutMillis: m.TimeoutMillis,
		},
	}})
	return nil
}

// checkStart refuses what YDB refuses, and what does not fit into the limits here.
func checkStart(m *Ydb_Coordination.SessionRequest_SessionStart) error {
	bad := func(message string) error { return &failed{Ydb.StatusIds_BAD_REQUEST, message} }
	switch {
	case m.Path == "":
		return bad("the path is empty")
	case m.TimeoutMillis > uint64(maxAsked/time.Millisecond):
		return bad("the timeout of a session is at most " + maxAsked.String() + " through this gateway")
	case len(m.Description) > protocol.MaxDescriptionBytes:
		return bad("the description is too long")
	case len(m.ProtectionKey) > protocol.MaxKeyBytes:
		return bad("the protection key is too long")
	}
	return nil
}

// refuse answers a stream that has no session, after a while: SDKs come back at once, for as long as their callers
// wait.
func (s *stream) refuse(err error) error {
	s.gateway.counts.refused.Add(1)
	wait := time.NewTimer(s.gateway.config.RefusalDelay)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-s.rpc.Context().Done():
		return nil
	case <-s.gateway.drained:
	}
	return s.rpc.Send(failureOf(err))
}

// sessionOver gets the last event of the session.
func (s *stream) sessionOver(err error) {
	var over *raw.Ended
	if errors.As(err, &over) && over.Reason == protocol.EndNodeDropped {
		err = &failed{Ydb.StatusIds_UNAVAILABLE, "the node was dropped"}
	}
	s.end(ending{failure: failureOf(err).GetFailure()})
}

// end ends the stream, if nothing has before.
func (s *stream) end(why ending) {
	select {
	case s.ended <- why:
	default:
	}
}

func failureOf(err error) *response {
	code, issues := statusOf(err)
	return &response{Response: &Ydb_Coordination.SessionResponse_Failure_{
		Failure: &Ydb_Coordination.SessionResponse_Failure{Status: code, Issues: issues},
	}}
}

// run sends what there is to be sent until the stream is over, and lets go of the session.
func (s *stream) run() error {
	s.gateway.counts.streams.Add(1)
	defer s.gateway.counts.streams.Add(-1)
	go s.receive()
	s.ping()
	defer s.pings.stop()
	for {
		select {
		case <-s.wake:
			if !s.flush() {
				s.leave(ending{})
				return status.Error(codes.Unavailable, "the session cannot be relied on at the moment")
			}
		case why := <-s.ended:
			return s.leave(why)
		case <-s.gateway.drained:
			return s.leave(ending{failure: failureOf(
				&failed{Ydb.StatusIds_UNAVAILABLE, "this gateway goes away"}).GetFailure()})
		}
	}
}

// flush sends what waits. It returns false where nothing may be sent any more: each message lets the SDK believe in
// the session for as long as reliance says, from its coming on.
func (s *stream) flush() bool {
	s.mu.Lock()
	queue := s.queue
	s.queue, s.spare = s.spare, nil
	s.mu.Unlock()
	for _, m := range queue {
		if s.session.LeaseLeft() < s.reliance {
			s.gateway.counts.withheld.Add(1)
			return false
		}
		if s.rpc.Send(m) != nil {
			return false
		}
		s.orphan = false
	}
	s.keep(queue)
	return true
}

// keep leaves the room of a queue that was sent to the next one, where it is not much.
func (s *stream) keep(sent []*response) {
	if cap(sent) > maxSpare {
		return
	}
	clear(sent)
	s.mu.Lock()
	s.spare = sent[:0]
	s.mu.Unlock()
}

// leave lets go of the session, and sends what is to be the last.
func (s *stream) leave(why ending) error {
	ctx := context.WithoutCancel(s.rpc.Context())
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if why.stop {
		if err := s.session.Stop(ctx); err != nil {
			return s.rpc.Send(failureOf(err))
		}
		return s.rpc.Send(&response{Response: &Ydb_Coordination.SessionResponse_SessionStopped_{
			SessionStopped: &Ydb_Coordination.SessionResponse_SessionStopped{SessionId: s.session.ID()},
		}})
	}
	if s.orphan {
		_ = s.session.Stop(ctx) // its client does not know it, and asks for another one
	} else {
		_ = s.session.Detach(ctx, why.left) // a session that is over already needs none
	}
	if why.failure == nil {
		return nil
	}
	return s.rpc.Send(&response{Response: &Ydb_Coordination.SessionResponse_Failure_{Failure: why.failure}})
}

// leaveTimeout is how long a stream that is over waits for its host; what is left to do goes on without it.
const leaveTimeout = 5 * time.Second

// send queues a message.
func (s *stream) send(m *response) {
	s.mu.Lock()
	s.queue = append(s.queue, m)
	full := len(s.queue) > maxQueued
	s.mu.Unlock()
	if full {
		s.end(ending{failure: failureOf(&failed{Ydb.StatusIds_OVERLOADED, "too much waits to be read"}).GetFailure()})
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// receive handles what the client sends, until the stream is over.
func (s *stream) receive() {
	for {
		m, err := s.rpc.Recv()
		if err != nil {
			s.end(ending{left: s.leftAfter(err)})
			return
		}
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
