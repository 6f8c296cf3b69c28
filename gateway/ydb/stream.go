package ydb

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/internal/fairshare"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/session"
)

type (
	request  = Ydb_Coordination.SessionRequest
	response = Ydb_Coordination.SessionResponse
)

// stream is a single attach for an SDK session. The call's goroutine sends, and decides when the stream is over; a
// second goroutine receives.
type stream struct {
	gateway      *Gateway
	rpc          Ydb_Coordination_V1.CoordinationService_SessionServer
	call         call
	ticket       *ticket
	leaveTicket  func()
	place        *fairshare.Unit // among the sessions
	session      *raw.Session
	reliance     time.Duration // how long an SDK may rely on the session after receiving a message
	asked        time.Duration // the timeout requested by the SDK
	pings        pings
	outbox       outbox
	numbers      numbers
	descriptions descriptions
	ended        chan ending // holds the first reason to end
	letGo        sync.Once   // of the session
	started      bool        // the session was started for this stream
	known        atomic.Bool // the client has sent a second message
	mayOwn       atomic.Bool // the session may own semaphores
}

// ending is why a stream is over.
type ending struct {
	failure *Ydb_Coordination.SessionResponse_Failure // last message; nil if none
	stop    bool                                      // the client has asked to end its session
	forfeit bool                                      // the session is ended though the client has not asked
	broken  error                                     // sending is forbidden or impossible; or nil
	left    time.Duration                             // for the session; 0 for its whole timeout
}

// Session serves a session stream.
func (g *Gateway) Session(rpc Ydb_Coordination_V1.CoordinationService_SessionServer) error {
	c, err := g.callOf(rpc.Context())
	if g.draining.Load() {
		return errLeaving
	}
	first, recvErr := rpc.Recv()
	if recvErr != nil {
		return recvErr
	}
	start := first.GetSessionStart()
	if start == nil {
		return status.Error(codes.InvalidArgument, "the first message is not a session_start")
	}
	s := &stream{
		gateway: g, rpc: rpc, call: c, ended: make(chan ending, 1),
		outbox: outbox{all: &g.backlog, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)},
	}
	if err == nil {
		err = s.open(start)
	}
	if err != nil {
		return s.refuse(err)
	}
	defer s.close()
	return s.run()
}

// open starts or attaches the session in the first message.
func (s *stream) open(m *Ydb_Coordination.SessionRequest_SessionStart) (err error) {
	if err := checkStart(m); err != nil {
		return err
	}
	path := pathOf(m.Path)
	if !s.call.below(path) {
		return &failed{Ydb.StatusIds_NOT_FOUND, "the path is not below the database " + s.call.database}
	}
	ctx := s.rpc.Context()
	if s.ticket, s.leaveTicket, err = s.gateway.admit(ctx, &s.call, s.call.ticket); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.asked = time.Duration(m.TimeoutMillis) * time.Millisecond
	s.reliance = relianceOf(s.asked)
	p := raw.Params{
		Path: path, Timeout: s.gateway.timing.timeoutOf(s.reliance),
		Details: kind.Details{Description: s.call.describe(m.Description)},
		Key:     m.ProtectionKey, Sequence: m.SeqNo, AllocateSequences: true, OnHoldingLost: s.look,
		OnEnd: s.sessionOver,
	}
	s.place = s.gateway.sessions.Unit(1, s.displaced)
	if !s.place.Assign(s.call.party(s.call.ticket), fairshare.Idle) {
		return errFull
	}
	if m.SessionId != 0 {
		s.owns() // an earlier stream may have acquired
	}
	if m.SessionId == 0 {
		s.started = true
		s.session, err = s.ticket.raw.Start(ctx, p)
	} else {
		s.session, err = s.ticket.raw.Attach(ctx, m.SessionId, p)
	}
	if err != nil {
		return err
	}
	if m.SessionId != 0 {
		s.numbers.last = s.session.SequenceBase()
	}
	s.pings.timing = s.gateway.timing.pingsOf(s.asked)
	s.send(&response{Response: &Ydb_Coordination.SessionResponse_SessionStarted_{
		SessionStarted: &Ydb_Coordination.SessionResponse_SessionStarted{
			SessionId: s.session.ID(), TimeoutMillis: m.TimeoutMillis,
		},
	}})
	return nil
}

// close gives the place and the ticket back.
func (s *stream) close() {
	if s.place != nil {
		s.place.Leave()
	}
	s.leaveTicket()
}

// owns records that the session may own semaphores from now on. Streams with such sessions are displaced last.
func (s *stream) owns() {
	if !s.mayOwn.Swap(true) {
		s.place.Set(fairshare.Busy)
	}
}

// displaced ends a stream whose slot another party needs. The session is detached with its whole timeout.
func (s *stream) displaced() {
	s.end(ending{failure: failureOf(&failed{Ydb.StatusIds_UNAVAILABLE,
		"the gateway needs the session's slot for a different client"}).GetFailure()})
}

// Rejections by a gateway without capacity for a session: SDKs use another gateway.
var (
	errFull    = status.Error(codes.Unavailable, "the gateway has reached the session limit")
	errLeaving = status.Error(codes.Unavailable, "the gateway is shutting down")
)

// checkStart rejects requests that YDB rejects, and requests above the gateway's limits.
func checkStart(m *Ydb_Coordination.SessionRequest_SessionStart) error {
	bad := func(message string) error { return &failed{Ydb.StatusIds_BAD_REQUEST, message} }
	switch {
	case m.Path == "":
		return bad("the path is empty")
	case m.TimeoutMillis > uint64(maxAsked/time.Millisecond):
		return bad("the session timeout is at most " + maxAsked.String() + " through this gateway")
	case len(m.Description) > kind.MaxDescription:
		return bad("the description is too long")
	case len(m.ProtectionKey) > protocol.MaxSecretBytes:
		return bad("the protection key is too long")
	}
	return nil
}

// refuse answers a stream without a session, after a while: SDKs come back at once, for as long as their callers
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
	if _, is := status.FromError(err); is {
		return err
	}
	return s.rpc.Send(failureOf(err))
}

// look ends a session that may own semaphores. Some may be lost, for example in a rebuilt shard, and in YDB's protocol
// a lock is only lost with its session.
func (s *stream) look() {
	if s.mayOwn.Load() {
		err := &failed{Ydb.StatusIds_SESSION_EXPIRED, "the session may have lost semaphores"}
		s.end(ending{failure: failureOf(err).GetFailure(), forfeit: true})
	}
}

// sessionOver gets the session's last event.
func (s *stream) sessionOver(err error) {
	if over, ok := errors.AsType[*raw.Ended](err); ok && over.Reason == protocol.EndNodeDropped {
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

// run sends the outbox's messages until the stream is over, and releases the session.
func (s *stream) run() error {
	s.gateway.counts.streams.Add(1)
	defer s.gateway.counts.streams.Add(-1)
	defer s.outbox.shutDown()
	go s.receive()
	s.ping()
	defer s.pings.stop()
	for {
		select {
		case <-s.outbox.wake:
			if err := s.flush(); err != nil {
				return s.leave(ending{broken: err, left: s.leftAfter(err)})
			}
			s.describeNext()
		case why := <-s.ended:
			return s.leave(why)
		case <-s.gateway.drained:
			return s.leave(ending{failure: failureOf(
				&failed{Ydb.StatusIds_UNAVAILABLE, "the gateway is shutting down"}).GetFailure()})
		}
	}
}

// errWithheld ends a stream that must not send.
var errWithheld = status.Error(codes.Unavailable, "the session cannot be relied on at the moment")

// flush sends the waiting messages. flush fails when sending is forbidden: from the arrival of a message on, the SDK
// relies on the session for as long as reliance says.
func (s *stream) flush() error {
	next := s.outbox.take()
	defer s.outbox.wereSent(next)
	for _, m := range next {
		if s.session.LeaseLeft() < s.reliance {
			s.gateway.counts.withheld.Add(1)
			return errWithheld
		}
		if err := s.rpc.Send(m.response); err != nil {
			return err
		}
		s.outbox.sent.Add(1)
		if m.GetPing() != nil {
			s.pings.wasSent()
		}
	}
	return nil
}

// leave releases the session and sends the last message.
func (s *stream) leave(why ending) error {
	switch err := s.letGoOf(why); {
	case why.broken != nil:
		return why.broken
	case why.stop && err == nil:
		return s.rpc.Send(&response{Response: &Ydb_Coordination.SessionResponse_SessionStopped_{
			SessionStopped: &Ydb_Coordination.SessionResponse_SessionStopped{SessionId: s.session.ID()},
		}})
	case why.stop:
		return s.rpc.Send(failureOf(err))
	case why.failure == nil:
		return nil
	}
	return s.rpc.Send(&response{Response: &Ydb_Coordination.SessionResponse_Failure_{Failure: why.failure}})
}

// letGoOf ends or detaches the session, once.
func (s *stream) letGoOf(why ending) (err error) {
	s.letGo.Do(func() {
		ctx := context.WithoutCancel(s.rpc.Context())
		ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
		defer cancel()
		// A client that has gone without a second message may not know its new session, and will ask for another
		// session.
		switch {
		case why.stop, why.forfeit:
			err = s.session.Stop(ctx)
		case s.started && why.failure == nil && !s.known.Load():
			s.session.Abandon()
		default:
			_ = s.session.Detach(ctx, why.left) // an ended session needs no detach
		}
	})
	return err
}

// leaveTimeout is how long an ended stream waits for its host; the remaining work continues without the stream.
const leaveTimeout = 5 * time.Second

// send queues a message.
func (s *stream) send(m *response) { s.outbox.add(m) }

// stalled ends a stream whose client reads nothing. The session is detached, and the waiting messages are dropped,
// though the sending goroutine stays blocked until the client continues reading. If the client never continues, the
// connection is closed.
func (s *stream) stalled() {
	s.gateway.counts.overloaded.Add(1)
	why := ending{failure: failureOf(
		&failed{Ydb.StatusIds_OVERLOADED, "the client does not read pending messages"}).GetFailure()}
	s.end(why)
	s.outbox.shutDown()
	_ = s.letGoOf(why)
	if c := s.call.from; c != nil {
		closing := time.AfterFunc(maxHeld, c.close)
		context.AfterFunc(s.rpc.Context(), func() { closing.Stop() })
	}
}
