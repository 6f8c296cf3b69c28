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
	// answerBytes is how much memory answers under way take together, from before they are made until they are read.
	// viewBytes is the same for the newest answers of all views.
	answerBytes = 64 << 20
	viewBytes   = 64 << 20
	// firstBytes is reserved before an answer is made.
	firstBytes = 64 << 10
	// receivedBytes is the memory of an answer, before it is JSON, for each byte that a host sends.
	receivedBytes = 2
	// roomWait is how long a request waits for memory before it is refused, and after how long it may be sent again.
	roomWait = time.Second
	// slowReader is for how long an answer is left to its reader while another request waits for the memory.
	slowReader = 2 * time.Second
)

// budget is the memory that all answers may take together. A party has at most half of it. Any goroutine may use a
// budget; a nil budget has no bounds.
type budget struct {
	limit   int64
	refused atomic.Uint64

	mu      sync.Mutex // guards the next fields, and those of rooms
	used    int64
	parties map[fairshare.Party]int64
	waiting fairshare.Queue[*waiter]
	reading list.List // of rooms whose answers are being read, the longest first
}

// waiter is a request that waits for memory.
type waiter struct {
	room  *room
	bytes int64
	ready chan struct{} // closed once the room has the memory
}

// room is the memory of one answer. Its methods may be called on nil, which counts nothing.
type room struct {
	budget *budget
	party  fairshare.Party // that has at most half of the memory
	held   int64
	spare  int64         // of held, for what comes
	short  int64         // what the room would have had to hold when it could not grow
	items  bool          // the answer reserves memory for its items, and drops what hosts have sent
	sent   int64         // of held, for what a host sends at once, if items is set
	json   int           // the length of the answer in JSON, unless items is set
	at     *list.Element // in budget.reading
	since  time.Time     // in budget.reading
	cut    func()        // ends the reading
}

// reserve reserves memory for an answer before it is made, and waits for it for a moment. The caller calls leave.
func (b *budget) reserve(ctx context.Context, by fairshare.Party, bytes int) (*room, error) {
	return b.reserveUntil(ctx, by, int64(bytes), time.Now().Add(roomWait))
}

// reserveUntil is reserve with the time at which the wait ends. Parties take turns in the wait.
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

// noRoom is the answer to a request without memory for its answer.
func noRoom() *problem {
	p := refuse(protocol.StatusOverloaded, operation.ErrNoRoom.Error())
	p.Wait = roomWait
	return p
}

// enter takes the first memory of a room. If there is none, enter ends readings that are slow, and returns a channel
// that is closed once the room has the memory, and a function for a caller that waits no more.
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

// serve gives memory to those who wait, by turns. Who waits for the party's own half delays no other, and who waits for
// memory of all delays all. mu is held.
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

// take counts more memory for a room, if there is any. mu is held.
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

// grow takes memory out of the spare memory, and more if that is short. mu is held.
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

// receive reserves memory for an answer of a host, and returns false if there is none.
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

// measure reserves memory for the JSON of an answer. A page has reserved the memory for its items.
func (r *room) measure(answer any) (err error) {
	if r == nil || r.items {
		return nil
	}
	if r.json, err = apijson.Length(answer); err == nil && !r.Grow(r.json) {
		err = operation.ErrNoRoom
	}
	return err
}

// encode writes an answer in JSON, in the memory that is reserved for it.
func (r *room) encode(answer any) ([]byte, error) {
	var text []byte
	if r != nil {
		text = make([]byte, 0, r.json)
	}
	text, err := apijson.Append(text, answer)
	r.made(cap(text))
	return text, err
}

// made counts the answer alone, once it is made.
func (r *room) made(bytes int) {
	if r == nil {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.count(r, int64(bytes)-r.held)
}

// read reports that the answer is being read; cut ends that.
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

// reader is who has the memory of an answer. A view is its caller's.
func (c *call) reader() fairshare.Party {
	if c.r == nil {
		return fairshare.Party{Token: c.caller.name}
	}
	return c.party()
}

// reserved carries a request out that reads, in memory for its answer. If the memory is too short for what comes, the
// request waits for all that it needs, and is carried out again. The caller calls leave.
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

// askWithin carries a request out in the memory of a room, and fails with operation.ErrNoRoom if that cannot grow.
func (r *route) askWithin(ctx context.Context, c *call, request any, taken *room) (answer any, err error) {
	ctx, cancel := context.WithCancelCause(operation.WithRoom(ctx, taken))
	defer cancel(nil)
	answer, err = r.ask(raw.OnReceive(ctx, func(bytes int) {
		if !taken.receive(bytes) {
			cancel(operation.ErrNoRoom)
		}
	}), c, request)
	if cause := context.Cause(ctx); errors.Is(cause, operation.ErrNoRoom) {
		return nil, cause // also if the answer would say that hosts are silent
	}
	if err == nil {
		err = taken.measure(answer)
	}
	return answer, err
}

// deliver writes the answer of a request, in JSON.
func (c *call) deliver() {
	if c.text == nil {
		return
	}
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(answerTimeout))
	c.room.read(func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) })
	writeBody(c.w, http.StatusOK, "application/json", c.text)
}
