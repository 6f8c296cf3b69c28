package server

import "time"

// The share of a processor that saving a state for a backup takes: for each part of the time in which it works it
// pauses for so many others. Work that waits for a processor counts too, so a host that has none to spare saves more
// slowly.
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

// pace says how long work in the background pauses, by how long it has worked and by whether the host has commands to
// apply.
type pace struct {
	commands func() uint64 // that the host has applied

	began  time.Time     // when the part of the work began that is being done
	worked time.Duration // since the last pause
	seen   uint64
	busy   time.Time // until then
}

// work says that a part of the work begins.
func (p *pace) work() { p.began = time.Now() }

// pause pauses after a part of the work. It returns false where the work is to stop.
func (p *pace) pause(stop <-chan struct{}) bool {
	now := time.Now()
	d := p.after(now.Sub(p.began), now)
	if d == 0 {
		return true // Save asks whether it is to stop, too
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
func (p *pace) after(worked time.Duration, now time.Time) time.Duration {
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
