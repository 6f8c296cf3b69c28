package host

import (
	"context"
	"errors"
	"time"
)

const (
	// leaveWithin is the time for other hosts to take over the leads of this host.
	leaveWithin = 3 * time.Second
	// drainWithin is the time for clients to go after the request to go.
	drainWithin = time.Second
	// drainPoll is how often the number of clients is checked.
	drainPoll = 5 * time.Millisecond
)

// ErrStopTimeout: a part of the host did not end in time. Nothing confirmed depends on the part.
var ErrStopTimeout = errors.New("the host did not come to its end in time and was cut off; " +
	"nothing that it confirmed is lost")

// Stop hands over the shards led by the host, sends its clients elsewhere, waits a moment for them, and closes the
// host: as a rule within some four seconds. If the context ends before, Stop returns ErrStopTimeout and the rest goes
// on.
func (h *Host) Stop(ctx context.Context) error {
	h.stopping.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if core := h.core.Load(); core != nil && h.Err() == nil {
			core.Leave(leaveWithin)
			h.drain()
		}
		h.Close()
	}()
	if ctx.Err() == nil { // else select would draw
		select {
		case <-done:
			return nil
		case <-ctx.Done():
		}
	}
	return ErrStopTimeout
}

// drain waits for the clients to go.
func (h *Host) drain() {
	for deadline := time.Now().Add(drainWithin); h.stats.Open.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(drainPoll)
	}
}

// Close takes the host down at once, in the reverse order of Start: connections break, and other hosts notice the
// absence. Nothing confirmed is lost. Close returns when all parts of the host have ended; a second call does
// nothing.
func (h *Host) Close() {
	h.stopping.Store(true)
	h.closed.Do(h.close)
}

func (h *Host) close() {
	h.cancel()
	h.arriving.Wait()
	h.closeListeners()
	// The admin pages read the parts taken down from here on.
	if h.admin != nil {
		h.admin.Close()
	}
	if core := h.core.Load(); core != nil {
		core.Close()
	}
	if h.raft != nil {
		closeErr := h.raft.Close()
		if closeErr != nil {
			h.log.Warn("closing the log", "error", closeErr)
		}
		if err := h.noteProgress(closeErr == nil); err != nil {
			h.log.Warn("where the log ends could not be written down", "error", err)
		}
	}
	h.closePeers()
	h.halting.Wait() // the log calls halt no more
	if h.disk != nil {
		h.disk.Close()
	}
	if h.memory != nil {
		h.memory.Close()
	}
	if h.tokens != nil {
		h.tokens.Close()
	}
	if h.directory != nil {
		h.directory.Release()
	}
}

func (h *Host) closeListeners() {
	for _, l := range h.listeners {
		if err := l.Close(); err != nil {
			h.log.Warn("closing a listener", "address", l.Addr().String(), "error", err)
		}
	}
}
