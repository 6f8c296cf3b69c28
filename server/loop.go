package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// look has the loop see to the routing and the meta shard, and to what may be dead in every shard.
func (h *Host) look() {
	h.looking.Store(true)
	h.wake()
}

// wake has the loop take a turn now.
func (h *Host) wake() {
	select {
	case h.wakes <- struct{}{}:
	default:
	}
}

// run is the host's loop: everything that time brings about.
func (h *Host) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	h.looking.Store(true)
	for last := h.now(); ; {
		select {
		case <-h.stop:
			return
		case <-ticker.C:
		case <-h.wakes:
		}
		now := h.now()
		if h.looking.Swap(false) || now.Sub(last) > time.Second {
			last = now
			h.meta.upkeep()
			h.routes.tell()
			if !h.settledIn() {
				h.looking.Store(true)
			}
		}
		for _, r := range h.replicas {
			r.pipeline.SetWall(time.Now().UnixNano() - h.clock())
			r.duty.turn(now)
		}
		if h.pending.due() || h.pending.over.Load() {
			h.relieve()
		}
		h.listen(now)
	}
}

// settledIn tells whether the host knows its cluster and is known to it.
func (h *Host) settledIn() bool {
	if !h.meta.caughtUp.Load() || h.meta.machine.Routing().Version == 0 {
		return false
	}
	_, known := h.meta.machine.Host(h.config.ID)
	return known && (!h.meta.leads() || !h.meta.mayRaise())
}

// listenStep is how many connections one turn looks at.
const listenStep = 1000

// listen closes connections that have been silent for too long, and those whose token was taken away, and reviews those
// whose token was given other rights, a few in each turn.
func (h *Host) listen(now time.Time) {
	h.mu.Lock()
	if len(h.silent) == 0 {
		for c := range h.conns {
			h.silent = append(h.silent, c)
		}
	}
	n := min(len(h.silent), listenStep)
	look := h.silent[len(h.silent)-n:]
	h.mu.Unlock()
	for i, c := range look {
		look[i] = nil
		silence := time.Duration(h.since(now) - c.heard.Load())
		switch {
		case silence > silences*h.config.PingInterval:
			c.cutOff(cutSilent, protocol.StatusTimeout, "the connection was silent for too long")
		case !c.said.Load() && time.Duration(h.since(now)-c.opened) > helloTime:
			c.cutOff(cutNoHello, protocol.StatusTimeout, "no HELLO came")
		case c.said.Load() && !c.rights.Valid():
			c.cutOff(cutUnauthorized, protocol.StatusUnauthorized, "the token is not good any more")
		case c.said.Load() && c.rights.Version() != c.reviewed:
			c.reviewed = c.rights.Version()
			c.review()
		}
	}
	h.mu.Lock()
	h.silent = h.silent[:len(h.silent)-n]
	h.mu.Unlock()
}

// Ready tells what this host still lacks to serve everything, nil where it lacks nothing.
func (h *Host) Ready() error {
	if h.foreign.Load() {
		return errForeign
	}
	if !h.settledIn() {
		return errNotSettled
	}
	now := h.now()
	for _, r := range h.replicas {
		l := r.leadership.Load()
		switch {
		case l.Leader == 0:
			return errNoLeader(r.id)
		case l.Leader == h.config.ID && (!r.duty.ready() || r.currentLevel() < h.meta.machine.Level()):
			return errNotServing(r.id)
		case r.fresh.age(now) > staleAfter && !r.fresh.confirmed(readyWait):
			return errNotFresh(r.id) // otherwise nobody had asked for a while
		}
	}
	return nil
}
