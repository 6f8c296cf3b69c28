package memlog

import (
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Timer is a function that the network calls later.
type Timer struct {
	net  *Network
	done bool // it was called or stopped
}

// AfterFunc calls f when the host's clock has moved on by d, as a timer of the host's process would:
// not while the host is paused, and never after it went down. It is the clock of the service under
// test, and with host 0, which stands for the test itself, that of a schedule of faults. Functions are
// called one after the other, like callbacks.
func (n *Network) AfterFunc(host shard.HostID, d time.Duration, f func()) *Timer {
	t := &Timer{net: n}
	n.do(func() {
		e := event{run: func() {
			if !t.done {
				t.done = true
				n.timers = append(n.timers, f)
			}
		}}
		if host != 0 {
			e.host = n.mustHost(host)
			d = e.host.virtual(d)
		}
		n.schedule(d, e)
	})
	return t
}

// Stop keeps the function from being called, and tells whether that was in time.
func (t *Timer) Stop() bool {
	inTime := false
	t.net.do(func() {
		inTime = !t.done
		t.done = true
	})
	return inTime
}

// runTimer calls the function of a timer that is due.
func (n *Network) runTimer() {
	f := n.timers[0]
	n.timers[0] = nil
	n.timers = n.timers[1:]
	n.outside(f)
}
