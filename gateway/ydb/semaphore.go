package ydb

import (
	"slices"
	"sync"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"

	"github.com/signalbox/signalbox/protocol"
)

// handle carries out a client's message. An error ends the stream.
func (s *stream) handle(m *request) error {
	switch {
	case m.GetPong() != nil:
		if !s.pings.answered(m.GetPong().Opaque) {
			return &failed{Ydb.StatusIds_BAD_REQUEST, "a pong to no ping"}
		}
	case m.GetPing() != nil:
		s.pinged(m.GetPing().Opaque)
	case m.GetSessionStop() != nil:
	case m.GetAcquireSemaphore() != nil:
		s.acquire(m.GetAcquireSemaphore())
	case m.GetReleaseSemaphore() != nil:
		s.release(m.GetReleaseSemaphore())
	case m.GetDescribeSemaphore() != nil:
		s.describe(m.GetDescribeSemaphore())
	case m.GetCreateSemaphore() != nil:
		s.create(m.GetCreateSemaphore())
	case m.GetUpdateSemaphore() != nil:
		s.update(m.GetUpdateSemaphore())
	case m.GetDeleteSemaphore() != nil:
		s.remove(m.GetDeleteSemaphore())
	default:
		return &failed{Ydb.StatusIds_BAD_REQUEST, "a message that is not known here, or a second session_start"}
	}
	return nil
}

// numbers are one stream's mutation numbers, which no other stream in the session uses: see DESIGN.md.
type numbers struct {
	mu   sync.Mutex // guards the next fields
	last uint64
	open []uint64 // without an answer, in order
	leap uint64   // the leap after the latest stale number; 0 after a number in time
}

// maxLeap is how many numbers are left out at a time at the most.
const maxLeap = 1 << 16

// next numbers a mutation.
func (n *numbers) next() protocol.Mutation {
	n.mu.Lock()
	defer n.mu.Unlock()
	acknowledged := n.last
	if len(n.open) > 0 {
		acknowledged = n.open[0] - 1
	}
	n.last++
	n.open = append(n.open, n.last)
	return protocol.Mutation{Sequence: n.last, AcknowledgedSequence: acknowledged}
}

// answered takes the answer to a mutation in. If the latest number is stale, a different stream has used a higher
// number. So the numbers leap, twice as far every time, and soon come out above the numbers of the earlier stream.
func (n *numbers) answered(number uint64, stale bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, found := slices.BinarySearch(n.open, number); found {
		n.open = slices.Delete(n.open, i, i+1)
	}
	switch {
	case !stale:
		n.leap = 0
	case number == n.last:
		n.leap = min(max(2*n.leap, 1), maxLeap)
		n.last += n.leap
	}
}

// mutate sends a mutation. If the host has not applied the mutation because of its number, mutate sends it again with a
// higher number: an equal or higher number was used before, or the number belongs to a different request. done gets the
// response and later messages for the request. After the stream has ended, done gets nothing.
func (s *stream) mutate(m protocol.RequestMessage, number *protocol.Mutation, done func(a *protocol.Answer)) {
	*number = s.numbers.next()
	this := number.Sequence
	s.session.Ask(m, func(a *protocol.Answer, err error) {
		if err != nil {
			if code, _ := statusOf(err); s.session.Err() == nil {
				s.end(ending{failure: &Ydb_Coordination.SessionResponse_Failure{Status: code}})
			}
			return
		}
		stale := a.Result.Status == protocol.StatusStale || a.Result.Status == protocol.StatusSequenceReused
		if a.Kind.IsAnswer() {
			s.numbers.answered(this, stale)
		}
		if stale {
			go s.mutate(m, number, done)
			return
		}
		done(a)
	})
}

// change sends a semaphore mutation, and responds with its result or with a validation error.
func (s *stream) change(
	name string, m protocol.RequestMessage, number *protocol.Mutation,
	result func(a *protocol.Answer, err error) *response,
) {
	if err := nameless(name); err != nil {
		s.send(result(nil, err))
		return
	}
	s.mutate(m, number, func(a *protocol.Answer) { s.send(result(a, a.Result.Err())) })
}

// nameless returns the error in a semaphore name.
func nameless(name string) error {
	if name == "" || len(name) > protocol.MaxNameBytes {
		return &failed{Ydb.StatusIds_BAD_REQUEST, "the name of a semaphore has 1 to 1024 bytes"}
	}
	return nil
}

func (s *stream) acquire(m *Ydb_Coordination.SessionRequest_AcquireSemaphore) {
	result := func(acquired bool, err error) {
		code, issues := statusOf(err)
		s.send(&response{Response: &Ydb_Coordination.SessionResponse_AcquireSemaphoreResult_{
			AcquireSemaphoreResult: &Ydb_Coordination.SessionResponse_AcquireSemaphoreResult{
				ReqId: m.ReqId, Status: code, Issues: issues, Acquired: acquired,
			},
		}})
	}
	if err := nameless(m.Name); err != nil {
		result(false, err)
		return
	}
	a := &protocol.Acquire{
		Name: []byte(m.Name), Count: m.Count, WaitMillis: m.TimeoutMillis, Data: m.Data, Ephemeral: m.Ephemeral,
	}
	if m.TimeoutMillis > protocol.MaxAcquireWaitMillis && m.TimeoutMillis != protocol.Forever {
		result(false, &failed{Ydb.StatusIds_BAD_REQUEST, "the timeout of an acquire is at most a day, or forever"})
		return
	}
	s.owns()
	s.mutate(a, &a.Mutation, func(a *protocol.Answer) {
		switch a.Kind {
		case protocol.KindGranted:
			result(true, nil)
		case protocol.KindTimedOut:
			result(false, nil)
		case protocol.KindAborted:
			result(false, a.Aborted.Result.Err())
		default:
			if a.Result.Status == protocol.StatusSuccess && a.Acquire.Outcome == protocol.Queued {
				s.send(&response{Response: &Ydb_Coordination.SessionResponse_AcquireSemaphorePending_{
					AcquireSemaphorePending: &Ydb_Coordination.SessionResponse_AcquireSemaphorePending{ReqId: m.ReqId},
				}})
				return
			}
			result(a.Acquire.Outcome == protocol.Acquired && a.Result.Status == protocol.StatusSuccess, a.Result.Err())
		}
	})
}

func (s *stream) release(m *Ydb_Coordination.SessionRequest_ReleaseSemaphore) {
	r := &protocol.Release{Name: []byte(m.Name)}
	s.change(m.Name, r, &r.Mutation, func(a *protocol.Answer, err error) *response {
		code, issues := statusOf(err)
		return &response{Response: &Ydb_Coordination.SessionResponse_ReleaseSemaphoreResult_{
			ReleaseSemaphoreResult: &Ydb_Coordination.SessionResponse_ReleaseSemaphoreResult{
				ReqId: m.ReqId, Status: code, Issues: issues, Released: err == nil && a.Release.Released,
			},
		}}
	})
}

func (s *stream) create(m *Ydb_Coordination.SessionRequest_CreateSemaphore) {
	c := &protocol.SemaphoreCreate{Name: []byte(m.Name), Limit: m.Limit, Data: m.Data}
	s.change(m.Name, c, &c.Mutation, func(_ *protocol.Answer, err error) *response {
		code, issues := statusOf(err)
		return &response{Response: &Ydb_Coordination.SessionResponse_CreateSemaphoreResult_{
			CreateSemaphoreResult: &Ydb_Coordination.SessionResponse_CreateSemaphoreResult{
				ReqId: m.ReqId, Status: code, Issues: issues,
			},
		}}
	})
}

func (s *stream) update(m *Ydb_Coordination.SessionRequest_UpdateSemaphore) {
	u := &protocol.SemaphoreUpdate{Name: []byte(m.Name), Data: m.Data}
	s.change(m.Name, u, &u.Mutation, func(_ *protocol.Answer, err error) *response {
		code, issues := statusOf(err)
		return &response{Response: &Ydb_Coordination.SessionResponse_UpdateSemaphoreResult_{
			UpdateSemaphoreResult: &Ydb_Coordination.SessionResponse_UpdateSemaphoreResult{
				ReqId: m.ReqId, Status: code, Issues: issues,
			},
		}}
	})
}

func (s *stream) remove(m *Ydb_Coordination.SessionRequest_DeleteSemaphore) {
	d := &protocol.SemaphoreDelete{Name: []byte(m.Name), Force: m.Force}
	s.change(m.Name, d, &d.Mutation, func(_ *protocol.Answer, err error) *response {
		code, issues := statusOf(err)
		return &response{Response: &Ydb_Coordination.SessionResponse_DeleteSemaphoreResult_{
			DeleteSemaphoreResult: &Ydb_Coordination.SessionResponse_DeleteSemaphoreResult{
				ReqId: m.ReqId, Status: code, Issues: issues,
			},
		}}
	})
}
