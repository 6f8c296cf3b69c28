package ydb

import (
	"slices"
	"sync"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"

	"github.com/signalbox/signalbox/protocol"
)

// description is a describe_semaphore under way, page by page, and the watch that it leaves.
type description struct {
	stream  *stream
	request *Ydb_Coordination.SessionRequest_DescribeSemaphore
	result  *Ydb_Coordination.SemaphoreDescription
	watched bool

	mu      sync.Mutex // guards what follows
	sent    bool       // the result
	changed *response  // that came before the result was sent
}

func (s *stream) describe(m *Ydb_Coordination.SessionRequest_DescribeSemaphore) {
	d := &description{stream: s, request: m}
	if err := nameless(m.Name); err != nil {
		d.finish(err)
		return
	}
	q := &protocol.SemaphoreDescribe{
		Name: []byte(m.Name), IncludeOwners: m.IncludeOwners, IncludeWaiters: m.IncludeWaiters, WatchData: m.WatchData,
		WatchOwners: m.WatchOwners,
	}
	s.session.Ask(q, func(a *protocol.Answer, err error) {
		switch {
		case err != nil: // the stream is over
			if s.session.Err() == nil {
				d.finish(err)
			}
		case a.Kind == protocol.KindChanged:
			d.change(&a.Changed)
		case a.Result.Status != protocol.StatusSuccess:
			d.finish(a.Result.Err())
		default:
			d.watched = a.SemaphoreDescribe.WatchAdded
			if next := d.add(&a.SemaphoreDescribe); next != 0 {
				go d.rest(q, next)
			} else {
				d.finish(nil)
			}
		}
	})
}

// add takes a page in, and returns where the next one begins.
func (d *description) add(a *protocol.SemaphoreDescribeAnswer) (next uint64) {
	of := &a.Semaphore
	if d.result == nil {
		d.result = &Ydb_Coordination.SemaphoreDescription{
			Name: d.request.Name, Data: slices.Clone(of.Data), Count: of.Count, Limit: of.Limit,
			Ephemeral: of.Ephemeral,
		}
	}
	for o := range a.Owners.All() {
		d.result.Owners = append(d.result.Owners, &Ydb_Coordination.SemaphoreSession{
			OrderId: o.OrderID, SessionId: o.SessionID, Count: o.Count, Data: slices.Clone(o.Data),
		})
	}
	for w := range a.Waiters.All() {
		d.result.Waiters = append(d.result.Waiters, &Ydb_Coordination.SemaphoreSession{
			OrderId: w.OrderID, SessionId: w.SessionID, Count: w.Count, Data: slices.Clone(w.Data),
			TimeoutMillis: w.TimeoutMillis,
		})
	}
	return a.Next
}

// rest reads the pages behind the first.
func (d *description) rest(first *protocol.SemaphoreDescribe, next uint64) {
	m := &protocol.SemaphoreDescribe{
		NodeID: first.NodeID, Name: first.Name, IncludeOwners: first.IncludeOwners,
		IncludeWaiters: first.IncludeWaiters,
	}
	s := d.stream
	for next != 0 {
		m.After = next
		err := s.ticket.raw.Do(s.rpc.Context(), m, func(a *protocol.Answer) { next = d.add(&a.SemaphoreDescribe) })
		if err != nil {
			d.finish(err)
			return
		}
	}
	d.finish(nil)
}

// finish sends the result, and then what has changed meanwhile.
func (d *description) finish(err error) {
	code, issues := statusOf(err)
	r := &Ydb_Coordination.SessionResponse_DescribeSemaphoreResult{
		ReqId: d.request.ReqId, Status: code, Issues: issues, WatchAdded: d.watched,
	}
	if err == nil {
		r.SemaphoreDescription = d.result
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stream.send(&response{Response: &Ydb_Coordination.SessionResponse_DescribeSemaphoreResult_{
		DescribeSemaphoreResult: r,
	}})
	d.sent = true
	if d.changed != nil {
		d.stream.send(d.changed)
	}
}

// change sends what the watch has seen, once, behind the result.
func (d *description) change(c *protocol.Changed) {
	m := &response{Response: &Ydb_Coordination.SessionResponse_DescribeSemaphoreChanged_{
		DescribeSemaphoreChanged: &Ydb_Coordination.SessionResponse_DescribeSemaphoreChanged{
			ReqId: d.request.ReqId, DataChanged: c.Data, OwnersChanged: c.Owners,
		},
	}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.sent {
		d.changed = m
		return
	}
	d.stream.send(m)
}
