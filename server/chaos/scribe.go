//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
)

// listener is who a client tells what happens: the run, directly or through a pipe. It is safe for use by many
// goroutines.
type listener interface {
	take(entry)
	// write asks the store that locks guard.
	write(of history.Semaphore, token uint64) (at history.Time, accepted bool)
}

// lookEvery is how often a client looks whether it still believes in what it holds.
const lookEvery = 5 * time.Millisecond

// scribe tells of one client, and of what it believes in. A client believes in a lease for as long as a look at
// it says so; it is looked at all the time, because one whose process stood still does not know when it should
// have stopped believing. So what is taken down is never longer than the truth.
type scribe struct {
	*clock
	client int
	to     listener
	number atomic.Uint64
	quit   chan struct{}
	done   chan struct{}

	mu    sync.Mutex // guards what follows
	holds map[*holding]bool
	last  history.Time // when the process was seen to run
	// slept and woke are when the process stood still the last time.
	slept, woke history.Time
}

// holding is a lease that a program has, from one change of it to the next.
type holding struct {
	scribe *scribe
	scene  scene
	lease  *client.Lease
	number uint64
	hold   history.Hold // its end is the latest moment at which it was believed in
}

// newScribe begins to tell of a client. Of a client whose process is started again the life says which it is.
func newScribe(c *clock, client, life int, to listener) *scribe {
	s := &scribe{clock: c, client: client, to: to, holds: make(map[*holding]bool), quit: make(chan struct{}), done: make(chan struct{})}
	s.number.Store(uint64(life) << 32)
	s.last = s.Now()
	go s.look()
	return s
}

// close ends the looking.
func (s *scribe) close() {
	close(s.quit)
	<-s.done
}

// letGo ends what is believed in.
func (s *scribe) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.holds {
		h.see()
		h.close("its client leaves")
	}
}

func (s *scribe) tell(number uint64, e entry) {
	e.Client, e.Number = s.client, number
	s.to.take(e)
}

// note tells that something is wrong.
func (s *scribe) note(format string, args ...any) {
	s.tell(s.number.Add(1), entry{Note: s.complaint(format, args...)})
}

func (s *scribe) complaint(format string, args ...any) *note {
	return &note{At: s.Now(), Text: fmt.Sprintf("client %d: %s", s.client, fmt.Sprintf(format, args...))}
}

// noteUnless tells that something is wrong, unless something hinders everybody since a moment.
func (s *scribe) noteUnless(since history.Time, format string, args ...any) {
	n := s.complaint(format, args...)
	n.Since = since
	s.tell(s.number.Add(1), entry{Note: n})
}

// blame tells of an error that no fault explains.
func (s *scribe) blame(err error) {
	if errors.Is(err, client.ErrInternal) || errors.Is(err, client.ErrUnsupported) || errors.Is(err, client.ErrUnauthorized) {
		s.note("%v", err)
	}
}

// view tells what a watcher saw.
func (s *scribe) view(v history.View) {
	v.At = s.Now()
	s.tell(s.number.Add(1), entry{View: &v})
}

// session tells of a session that has begun, and returns what tells of its end, once.
func (s *scribe) session(x history.Session) (end func(history.Time, history.End, string)) {
	number := s.number.Add(1)
	x.Client, x.From, x.To = s.client, s.Now(), history.Never
	s.tell(number, entry{Session: &x})
	var once sync.Once
	return func(at history.Time, why history.End, detail string) {
		once.Do(func() {
			ended := x
			ended.To, ended.End, ended.Detail = max(at, x.From), why, detail
			s.tell(number, entry{Session: &ended})
		})
	}
}

// operation tells of an operation that is about to begin, and returns it with its number.
func (s *scribe) operation(o history.Operation) (history.Operation, uint64) {
	number := s.number.Add(1)
	o.Called = s.Now()
	begun := o
	s.tell(number, entry{Operation: &begun})
	return o, number
}

// finish tells what came of an operation.
func (s *scribe) finish(number uint64, o history.Operation) {
	o.Returned = s.Now()
	s.tell(number, entry{Operation: &o})
}

// hold begins to believe in a lease, if it is held.
func (s *scribe) hold(scene scene, path string, lease *client.Lease, count uint64) *holding {
	now := s.Now()
	h := &holding{
		scribe: s, scene: scene, lease: lease, number: s.number.Add(1),
		hold: history.Hold{
			Semaphore: history.Semaphore{Node: path, Name: scene.name}, Session: lease.Session(), Order: lease.Fence(),
			Count: count, From: now, To: now,
		},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.see() {
		return h // it was over before anybody could believe in it
	}
	open := h.hold
	open.To = history.Never
	s.tell(h.number, entry{Hold: &open})
	s.holds[h] = true
	return h
}

// end stops believing, because of something that the client does now.
func (h *holding) end(why string) {
	h.scribe.mu.Lock()
	defer h.scribe.mu.Unlock()
	if h.scribe.holds[h] {
		h.see()
		h.close(why)
	}
}

// see looks at the lease, and tells whether it is believed in. The scribe's lock is held.
func (h *holding) see() bool {
	now := h.scribe.Now()
	if h.lease.Err() != nil {
		return false
	}
	h.hold.To = now
	return true
}

// close tells of the end. The scribe's lock is held.
func (h *holding) close(why string) {
	delete(h.scribe.holds, h)
	h.hold.Why = why
	ended := h.hold
	h.scribe.tell(h.number, entry{Hold: &ended})
}

// stillness is for how long a process has to have done nothing to count as having stood still.
const stillness = 250 * time.Millisecond

// look looks at all that the client holds, again and again.
func (s *scribe) look() {
	defer close(s.done)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.quit:
			return
		}
		s.mu.Lock()
		s.run()
		for h := range s.holds {
			if !h.see() {
				h.close(fmt.Sprint(h.lease.Err()))
			}
		}
		s.mu.Unlock()
	}
}

// run notices that the process runs, and whether it did not for a while. The lock is held.
func (s *scribe) run() {
	now := s.Now()
	if now-s.last > stillness {
		s.slept, s.woke = s.last, now
		s.tell(s.number.Add(1), entry{Fault: &history.Fault{From: s.last - lookEvery, To: now, What: "its process stood still", Client: s.client}})
	}
	s.last = now
}

// asleep tells whether the process has stood still since a moment, and from when on.
func (s *scribe) asleep(since history.Time) (from history.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run()
	return s.slept, s.woke >= since && s.woke > 0
}
