package main

import (
	"errors"
	"time"
)

const (
	// stopWithin bounds the whole of stopping.
	stopWithin = 5 * time.Second
	// leaveWithin is for other hosts to take over what this one leads.
	leaveWithin = 2 * time.Second
	// drainWithin is for clients to go after they were told to.
	drainWithin = time.Second
	// drainPoll is how often it is looked whether they have.
	drainPoll = 5 * time.Millisecond
)

// errStopTimeout: something did not come to its end in time. Nothing that was confirmed depends on it.
var errStopTimeout = errors.New("the host did not come to its end in time and was cut off; " +
	"nothing that it confirmed is lost")

// stop takes the host down in peace, in no more than that time. What is not down by then is left to the
// end of the process.
func (r *running) stop(within time.Duration) error {
	r.phase.Store(phaseStopping)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if host := r.gate.host.Load(); host != nil {
			host.Leave(leaveWithin)
			r.drain()
		}
		r.close()
	}()
	select {
	case <-done:
		return nil
	case <-time.After(within):
		return errStopTimeout
	}
}

// drain waits for the clients to go.
func (r *running) drain() {
	for deadline := time.Now().Add(drainWithin); r.stats.Open.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(drainPoll)
	}
}

// close takes down whatever there is, the last that came up first.
func (r *running) close() {
	for _, l := range r.listeners {
		if err := l.Close(); err != nil {
			r.log.Warn("closing a listener", "address", l.Addr().String(), "error", err)
		}
	}
	// Its pages look at what is taken down from here on.
	if r.admin != nil {
		r.admin.Close()
	}
	if host := r.gate.host.Load(); host != nil {
		host.Close()
	}
	if r.raft != nil {
		if err := r.raft.Close(); err != nil {
			r.log.Warn("closing the log", "error", err)
		}
	}
	if r.disk != nil {
		r.disk.Close()
	}
	if r.tokens != nil {
		r.tokens.Close()
	}
	if r.directory != nil {
		r.directory.Release()
	}
}
