package host

import (
	"context"
	"errors"
	"time"
)

const (
	// leaveWithin is the time limit for transferring the local host's leadership to remote hosts.
	leaveWithin = 3 * time.Second
	// drainWithin is the time limit for clients to leave after they were asked to.
	drainWithin = time.Second
	// drainPoll is the poll interval for the number of clients.
	drainPoll = 5 * time.Millisecond
)

// ErrStopTimeout: a component did not stop in time. Nothing confirmed depends on that component.
var ErrStopTimeout = errors.New("the shutdown took too long and was aborted; nothing that the host confirmed is lost")

// Stop hands over the shards the host leads, sends its clients to remote hosts, waits briefly for them to leave, and
// closes the host; usually within about four seconds. If the context ends first, Stop returns ErrStopTimeout and the
// shutdown continues.
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
	if ctx.Err() == nil { // otherwise select would choose at random
		select {
		case <-done:
			return nil
		case <-ctx.Done():
		}
	}
	return ErrStopTimeout
}

// drain waits for the clients to leave.
func (h *Host) drain() {
	for deadline := time.Now().Add(drainWithin); h.stats.Open.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(drainPoll)
	}
}

// Close stops the host immediately, in the reverse order of Start: connections break, and remote hosts detect the
// absence. Nothing confirmed is lost. Close returns when all components have stopped; a second call does nothing.
func (h *Host) Close() {
	h.stopping.Store(true)
	h.closed.Do(h.close)
}

func (h *Host) close() {
	h.cancel()
	h.arriving.Wait()
	h.closeListeners()
	// The admin pages read the components that are taken down from here on.
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
			h.log.Warn("cannot record the end of the log", "error", err)
		}
	}
	h.closePeers()
	h.halting.Wait() // the log no longer calls halt
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
