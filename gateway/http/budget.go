package http

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/internal/fairshare"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// answerBytes is the memory limit for all responses in progress, from before they are made until they are read.
	// viewBytes is the limit for all views' newest responses.
	answerBytes = 64 << 20
	viewBytes   = 64 << 20
	// firstBytes is reserved before an answer is made.
	firstBytes = 64 << 10
	// receivedBytes is a response's memory before JSON encoding, per byte sent by a host.
	receivedBytes = 2
	// roomWait is the maximum time to wait for memory before rejection, and the retry delay after rejection.
	roomWait = time.Second
	// slowReader is how long a reader may take while another request waits for the memory.
	slowReader = 2 * time.Second
)

// budget limits the memory for all responses together. A party gets at most half. Safe for concurrent use; a nil budget
// has no limit.
type budget struct {
	limit   int64
	refused atomic.Uint64

	mu      sync.Mutex // guards the next fields, and the rooms' fields
	used    int64
	parties map[fairshare.Party]int64
	waiting fairshare.Queue[*waiter]
	reading list.List // rooms whose responses are being read, longest first
}

// waiter is a request that waits for memory.
type waiter struct {
	room  *room
	bytes int64
	ready chan struct{} // closed once the room has the memory
}

// room is one response's memory. Its methods work on nil, which counts nothing.
type room struct {
	budget *budget
	party  fairshare.Party // gets at most half the memory
	held   int64
	spare  int64         // from held, for later use
	short  int64         // size that the room would have needed when it could not grow
	items  bool          // the response reserves memory for its items, and drops data received from hosts
	sent   int64         // from held, for data that a host sends at once, if items is set
	json   int           // response length in JSON, unless items is set
	at     *list.Element // in budget.reading
	since  time.Time     // in budget.reading
	cut    func()        // ends the reading
}

// reserve reserves memory for a response in advance, waiting briefly if necessary. The caller must call leave.
func (b *budget) reserve(ctx context.Context, by fairshare.Party, bytes int) (*room, error) {
	return b.reserveUntil(ctx, by, int64(bytes), time.Now().Add(roomWait))
}

// reserveUntil is reserve with the wait's deadline. Parties take turns in the wait.
func (b *budget) reserveUntil(ctx context.Context, by fairshare.Party, bytes int64, end time.Time) (*room, error) {
	if b == nil {
		return nil, nil
	}
	r := &room{budget: b, party: by}
	if by.Token != "" {
		r.party.Address = netip.Prefix{}
	}
	ready, giveUp := r.enter(by, bytes)
	if ready == nil {
		return r, nil
	}
	late := time.NewTimer(time.Until(end))
	defer late.Stop()
	select {
	case <-ready:
		return r, nil
	case <-late.C:
		giveUp()
		b.refused.Add(1)
		return nil, noRoom()
	case <-ctx.Done():
		giveUp()
		return nil, context.Cause(ctx)
	}
}

// noRoom is the response to a request without memory.
func noRoom() *problem {
	p := refuse(protocol.StatusOverloaded, operation.ErrNoRoom.Error())
	p.Wait = roomWait
	return p
}

// enter takes a room's first memory. If there is none, enter ends slow reads, and returns a channel that is closed once
// the room has the memory, and a function for a caller that stops waiting.
func (r *room) enter(by fairshare.Party, bytes int64) (ready <-chan struct{}, giveUp func()) {
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting.Empty() && b.take(r, bytes) {
		return nil, nil
	}
	for e := b.reading.Front(); e != nil && time.Since(e.Value.(*room).since) >= slowReader; e = e.Next() {
		e.Value.(*room).cut()
	}
	w := &waiter{r, bytes, make(chan struct{})}
	place := b.waiting.Add(w, by)
	b.serve()
	return w.ready, func() {
		b.mu.Lock()
		place.Leave() // if it still waits
		b.count(r, -r.held)
		b.serve()
		b.mu.Unlock()
	}
}

// serve gives memory to waiters, by turns. A waiter limited by its party's half delays no other party; a waiter limited
// by total memory delays all. mu is held.
func (b *budget) serve() {
	for short := false; !short; {
		w, ok := b.waiting.Next(func(w *waiter) bool {
			short = short || b.used+w.bytes > b.limit
			return !short && b.take(w.room, w.bytes)
		})
		if !ok {
			return
		}
		close(w.ready)
	}
}

// take counts more memory for a room if available. mu is held.
func (b *budget) take(r *room, bytes int64) bool {
	if b.used+bytes > b.limit || b.parties[r.party]+bytes > b.limit/2 {
		return false
	}
	b.count(r, bytes)
	return true
}

// count counts more memory for a room, or less. mu is held.
func (b *budget) count(r *room, bytes int64) {
	if b.parties == nil {
		b.parties = make(map[fairshare.Party]int64)
	}
	r.held += bytes
	b.used += bytes
	if b.parties[r.party] += bytes; b.parties[r.party] == 0 {
		delete(b.parties, r.party)
	}
	if bytes < 0 {
		b.serve()
	}
}

// Grow implements operation.Room.
func (r *room) Grow(bytes int) bool {
	if r == nil {
		return true
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	return r.grow(int64(bytes))
}

// grow takes memory from spare, and more if necessary. mu is held.
func (r *room) grow(bytes int64) bool {
	if more := bytes - r.spare; more > 0 {
		if !r.budget.take(r, more) {
			r.short = r.held + more
			return false
		}
		r.spare += more
	}
	r.spare -= bytes
	return true
}

// CountItems implements operation.Room.
func (r *room) CountItems() {
	if r == nil {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.items = true
}

// receive reserves memory for a host's response, and returns false if there is none.
func (r *room) receive(bytes int) bool {
	if r == nil {
		return true
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	if !r.items {
		return r.grow(receivedBytes * int64(bytes))
	}
	more := max(0, int64(bytes)-r.sent)
	if !r.grow(more) {
		return false
	}
	r.sent += more
	return true
}

// measure reserves memory for a response's JSON. A page has already reserved memory for its items.
func (r *room) measure(answer any) (err error) {
	if r == nil || r.items {
		return nil
	}
	if r.json, err = apijson.Length(answer); err == nil && !r.Grow(r.json) {
		err = operation.ErrNoRoom
	}
	return err
}

// encode writes a response as JSON in its reserved memory.
func (r *room) encode(answer any) ([]byte, error) {
	var text []byte
	if r != nil {
		text = make([]byte, 0, r.json)
	}
	text, err := apijson.Append(text, answer)
	r.made(cap(text))
	return text, err
}

// made reduces the reservation to the finished response.
func (r *room) made(bytes int) {
	if r == nil {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.count(r, int64(bytes)-r.held)
}

// read reports that the response is being read; cut ends reading.
func (r *room) read(cut func()) {
	if r == nil {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.since, r.cut = time.Now(), cut
	r.at = r.budget.reading.PushBack(r)
}

// leave gives the memory back.
func (r *room) leave() {
	if r == nil {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	if r.at != nil {
		r.budget.reading.Remove(r.at)
		r.at = nil
	}
	r.budget.count(r, -r.held)
}

// bytes is how much memory is taken.
func (b *budget) bytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// reader is the party that holds a response's memory. A view belongs to its caller.
func (c *call) reader() fairshare.Party {
	if c.r == nil {
		return fairshare.Party{Token: c.caller.name}
	}
	return c.party()
}

// reserved runs a read request in memory reserved for its response. If the memory is insufficient, the request waits
// for all the memory it needs and runs again. The caller must call leave.
func (r *route) reserved(ctx context.Context, c *call, request any) (answer any, taken *room, err error) {
	b, end := c.gateway.answers, time.Now().Add(roomWait)
	for bytes := int64(firstBytes); ; bytes = taken.short {
		if taken, err = b.reserveUntil(ctx, c.reader(), bytes, end); err != nil {
			return nil, nil, err
		}
		taken.spare = bytes
		answer, err = r.askWithin(ctx, c, request, taken)
		if !errors.Is(err, operation.ErrNoRoom) {
			return answer, taken, err
		}
		if time.Now().After(end) {
			b.refused.Add(1)
			return nil, taken, err
		}
		taken.leave()
	}
}

// askWithin runs a request in a room's memory, and fails with operation.ErrNoRoom if the room cannot grow.
func (r *route) askWithin(ctx context.Context, c *call, request any, taken *room) (answer any, err error) {
	ctx, cancel := context.WithCancelCause(operation.WithRoom(ctx, taken))
	defer cancel(nil)
	answer, err = r.ask(raw.OnReceive(ctx, func(bytes int) {
		if !taken.receive(bytes) {
			cancel(operation.ErrNoRoom)
		}
	}), c, request)
	if cause := context.Cause(ctx); errors.Is(cause, operation.ErrNoRoom) {
		return nil, cause // even if the response would report that hosts are silent
	}
	if err == nil {
		err = taken.measure(answer)
	}
	return answer, err
}

// deliver writes a request's response as JSON.
func (c *call) deliver() {
	if c.text == nil {
		return
	}
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(answerTimeout))
	c.room.read(func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) })
	writeBody(c.w, http.StatusOK, "application/json", c.text)
}
