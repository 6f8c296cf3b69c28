package server

import (
	"maps"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// chores is the work for connections in a round of the loop. With connections open, the next round has work too.
func (h *Host) chores(now time.Time, changed bool) (busy bool) {
	h.routes.announceLeaders()
	if changed {
		h.routes.announce()
		h.governing.changed()
	}
	if p := &h.pending; p.counted.Load()+p.added.Load() > p.limit || p.over.Load() {
		h.relievePending()
	}
	h.makeSure(now)
	h.reviewConns(now)
	return h.connections() > 0
}

// makeSure keeps this host sure of the rights of the cluster, if there are rights.
func (h *Host) makeSure(now time.Time) {
	if h.meta.Rights().Revision() == 0 || h.meta.SureFor(now) < rightsCheck || now.Sub(h.askedAt) < rightsCheck {
		return
	}
	h.askedAt = now
	h.meta.Confirm(func(bool) {})
}

// rightsCheck is how often a host makes sure of the cluster's rights, and how long it waits between attempts.
const rightsCheck = 2 * time.Second

// reviewStep is how many connections one round checks.
const reviewStep = 1000

// reviewConns checks a few connections in each round. It closes a connection after too long a silence, or after the
// withdrawal of the token, and reviews a connection after a change of rights.
func (h *Host) reviewConns(now time.Time) {
	h.mu.Lock()
	if len(h.silent) == 0 {
		h.silent = slices.AppendSeq(h.silent, maps.Keys(h.conns))
	}
	n := min(len(h.silent), reviewStep)
	look := h.silent[len(h.silent)-n:]
	h.mu.Unlock()
	for i, c := range look {
		look[i] = nil
		silence := time.Duration(h.set.Since(now) - c.heard.Load())
		switch {
		case silence > silences*h.config.PingInterval:
			c.cutOff(cutSilent, protocol.StatusTimeout, "the connection was silent for too long")
		case !c.welcomed.Load() && time.Duration(h.set.Since(now)-c.opened) > helloTime:
			c.cutOff(cutNoHello, protocol.StatusTimeout, "no HELLO came")
		case c.welcomed.Load() && !c.rights.Valid():
			c.cutOff(cutUnauthorized, protocol.StatusUnauthorized, "the token is not good any more")
		case c.welcomed.Load() && !c.reviewKept():
		case c.welcomed.Load() && c.rights.Version() != c.reviewed:
			c.reviewed = c.rights.Version()
			c.review()
		}
	}
	h.mu.Lock()
	h.silent = h.silent[:len(h.silent)-n]
	h.mu.Unlock()
}
