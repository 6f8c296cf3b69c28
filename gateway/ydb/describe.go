package ydb

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"

	"github.com/signalbox/signalbox/protocol"
)

// describeBytes is a description's assumed size before the response arrives: a semaphore's data has at most 1 MiB.
const describeBytes = 1 << 20

// descriptions are a stream's description requests. The number in flight is limited by the space for responses, so a
// client that does not read responses cannot make the gateway request more.
type descriptions struct {
	bytes atomic.Int64 // of waiting requests

	mu       sync.Mutex // guards the next fields
	waiting  []*description
	underWay int
}

// full returns whether the waiting requests are at their limit.
func (d *descriptions) full() bool { return d.bytes.Load() > maxStreamBytes }

// next returns the description to begin with. next returns nil if no description waits, or if its answer has no room
// beside the unsent bytes.
func (d *descriptions) next(unsent int64) (next *description) {
	if d.bytes.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 || unsent+int64(d.underWay+1)*describeBytes > maxStreamBytes {
		return nil
	}
	next, d.waiting[0] = d.waiting[0], nil
	if d.waiting = d.waiting[1:]; len(d.waiting) == 0 {
		d.waiting = nil
	}
	d.bytes.Add(-next.requestBytes())
	d.underWay++
	return next
}

// description is a describe_semaphore under way, page by page, with the watch left by the request.
type description struct {
	stream  *stream
	request *Ydb_Coordination.SessionRequest_DescribeSemaphore
	result  *Ydb_Coordination.SemaphoreDescription
	bytes   int64 // counted for the result
	watched bool

	mu      sync.Mutex // guards the next fields
	sent    bool       // the result
	changed *response  // a change that arrived before the result was sent
}

func (s *stream) describe(m *Ydb_Coordination.SessionRequest_DescribeSemaphore) {
	d := &description{stream: s, request: m}
	if err := nameless(m.Name); err != nil {
		d.send(err)
		return
	}
	s.descriptions.add(d)
	s.describeNext()
}

func (d *descriptions) add(last *description) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, last)
	d.bytes.Add(last.requestBytes())
}

// requestBytes is a waiting description's size.
func (d *description) requestBytes() int64 { return int64(messageBytes + len(d.request.Name)) }

// describeNext starts descriptions while there is space.
func (s *stream) describeNext() {
	for {
		d := s.descriptions.next(s.outbox.bytes.Load())
		if d == nil {
			return
		}
		signal(s.outbox.room)
		d.ask()
	}
}

func (d *description) ask() {
	s, m := d.stream, d.request
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
		case a.Kind == protocol.KindWatchChanged:
			d.change(&a.WatchChanged)
		case a.Result.Status != protocol.StatusSuccess:
			d.finish(a.Result.Err())
		default:
			d.watched = a.SemaphoreDescribe.WatchAdded
			if next, err := d.add(&a.SemaphoreDescribe); next != 0 && err == nil {
				go d.rest(q, next)
			} else {
				d.finish(err)
			}
		}
	})
}

// errNoRoom refuses a description because too many bytes wait to be sent to all clients.
var errNoRoom = &failed{Ydb.StatusIds_OVERLOADED, "too much waits to be read by clients of this gateway"}

// add processes a page, and returns the start of the next page.
func (d *description) add(a *protocol.SemaphoreDescribeAnswer) (next uint64, err error) {
	of := &a.Semaphore
	bytes := int64(len(of.Data) + a.Owners.Size() + a.Waiters.Size())
	if !d.stream.outbox.all.takes(bytes) {
		return 0, errNoRoom
	}
	d.bytes += bytes
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
	return a.Next, nil
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
		var added error
		err := s.ticket.raw.Do(s.rpc.Context(), m, func(a *protocol.Answer) {
			next, added = d.add(&a.SemaphoreDescribe)
		})
		if err = cmp.Or(err, added); err != nil {
			d.finish(err)
			return
		}
	}
	d.finish(nil)
}

// finish sends the result, frees the slot, and starts the next waiting description.
func (d *description) finish(err error) {
	s := d.stream
	d.send(err)
	s.outbox.all.bytes.Add(-d.bytes)
	s.descriptions.mu.Lock()
	s.descriptions.underWay--
	s.descriptions.mu.Unlock()
	s.describeNext()
}

// send sends the result, and then a change from meanwhile.
func (d *description) send(err error) {
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

// change sends the change seen by the watch, once, behind the result.
func (d *description) change(c *protocol.WatchChanged) {
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
