// Package throttle lets work in the background take a small part of a processor, such as saving a state while a host
// serves its clients.
package throttle

import "time"

// The share of a processor that work takes: for each part of the time in which it works it pauses for so many others.
// Work that waits for a processor counts too, so a host that has none to spare works more slowly.
const (
	busyShare = 39
	idleShare = 3
	// leastWork is after how much work it pauses: to wake costs a processor more than a few records.
	leastWork = 500 * time.Microsecond
	// maxPause is the longest pause.
	maxPause = 100 * time.Millisecond
	// busyFor is how long a host counts as busy after a command.
	busyFor = time.Second
)

// Pace says how long work in the background pauses, by how long it has worked and by whether the host has commands to
// apply. One goroutine uses it.
type Pace struct {
	commands func() uint64 // that the host has applied
	hurry    func() bool   // reports whether it does not pause now

	began  time.Time     // when the part of the work began that is being done
	worked time.Duration // since the last pause
	seen   uint64
	busy   time.Time // until then
}

// New returns the pace of work on a host that has applied so many commands. Where hurry is given and true, the work
// does not pause.
func New(commands func() uint64, hurry func() bool) *Pace {
	return &Pace{commands: commands, hurry: hurry, seen: commands()}
}

// Quarter returns the pace of work that takes a quarter of a processor, also on a host with commands to apply.
func Quarter() *Pace { return New(func() uint64 { return 0 }, nil) }

// Work says that a part of the work begins.
func (p *Pace) Work() { p.began = time.Now() }

// Pause pauses after a part of the work. It returns false where the work is to stop.
func (p *Pace) Pause(stop <-chan struct{}) bool {
	d := time.Duration(0)
	if p.hurry == nil || !p.hurry() {
		now := time.Now()
		d = p.after(now.Sub(p.began), now)
	}
	if d == 0 {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}

// after is how long to pause after a part of the work.
func (p *Pace) after(worked time.Duration, now time.Time) time.Duration {
	if n := p.commands(); n != p.seen {
		p.seen, p.busy = n, now.Add(busyFor)
	}
	share := time.Duration(idleShare)
	if now.Before(p.busy) {
		share = busyShare
	}
	if p.worked += worked; p.worked < leastWork {
		return 0
	}
	worked, p.worked = p.worked, 0
	return min(share*worked, maxPause)
}
