// Package throttle limits background work to a small share of a processor, for example saving state while a host serves
// clients.
package throttle

import "time"

// Processor share for work: for each unit of working time, the work pauses for several units. Waiting for a processor
// counts as working, so the work slows down on a busy host.
const (
	busyShare = 39
	idleShare = 3
	// leastWork is the minimum working time before a pause, because waking up costs more than processing a few records.
	leastWork = 500 * time.Microsecond
	// maxPause is the longest pause.
	maxPause = 100 * time.Millisecond
	// busyFor is how long a host counts as busy after a command.
	busyFor = time.Second
)

// Pace computes pauses for background work, from the working time and whether the host has commands to apply. It must
// be used by a single goroutine.
type Pace struct {
	commands func() uint64 // number of commands applied by the host
	hurry    func() bool   // reports whether to skip pauses

	began  time.Time     // when the current section started
	worked time.Duration // since the last pause
	seen   uint64
	busy   time.Time // until then
}

// New returns a pace for work on a host that reports its applied commands. If hurry is not nil and returns true, the
// work does not pause.
func New(commands func() uint64, hurry func() bool) *Pace {
	return &Pace{commands: commands, hurry: hurry, seen: commands()}
}

// Quarter returns a pace for work that uses a quarter of a processor, even on a host with commands to apply.
func Quarter() *Pace { return New(func() uint64 { return 0 }, nil) }

// Work starts a section.
func (p *Pace) Work() { p.began = time.Now() }

// Pause pauses after a section. It returns false if the work must stop.
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

// after returns the pause length after a section.
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
