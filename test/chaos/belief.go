//go:build linux

package chaos

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

const (
	// lookEvery is how often a client looks whether it still believes in what it holds.
	lookEvery = 5 * time.Millisecond
	// stillness is for how long a process has to have done nothing to count as having stood still.
	stillness = 250 * time.Millisecond
)

// holding is a lease that is believed in, from one change of it to the next.
type holding struct {
	scribe *scribe
	lease  *client.Lease
	number uint64
	hold   history.Hold // its end is the latest moment at which it was believed in
}

func (s *scribe) Hold(lease *client.Lease, x history.Hold) (end func(why string)) {
	x.From = s.Now()
	x.To = x.From
	h := &holding{scribe: s, lease: lease, number: s.number.Add(1), hold: x}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.see() { // otherwise it was over before anybody could believe in it
		open := h.hold
		open.To = history.Never
		s.tell(h.number, entry{Hold: &open})
		s.holds[h] = true
	}
	return h.end
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

// letGo ends what is believed in.
func (s *scribe) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.holds {
		h.see()
		h.close("its client leaves")
	}
}

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
