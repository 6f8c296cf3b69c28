package replica

import (
	"errors"
	"fmt"
	"time"
)

// look has the loop see to the routing and the meta shard, and to what may be dead in every shard.
func (s *Set) look() {
	s.changed.Store(true)
	s.Wake()
}

// Wake has the loop go round now.
func (s *Set) Wake() {
	select {
	case s.wakes <- struct{}{}:
	default:
	}
}

// run is the loop: all that time brings about.
func (s *Set) run() {
	ticker := time.NewTicker(Tick)
	defer ticker.Stop()
	s.changed.Store(true)
	for last := s.Now(); ; {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		case <-s.wakes:
		}
		now := s.Now()
		changed := s.changed.Swap(false) || now.Sub(last) > time.Second
		if changed {
			last = now
			s.Meta.upkeep()
			if !s.joined() {
				s.changed.Store(true)
			}
		}
		for _, r := range s.Replicas {
			r.Pipeline.SetWall(time.Now().UnixNano() - s.Clock())
			r.duty.turn(now)
		}
		s.config.Chores(now, changed)
	}
}

// joined reports whether the host knows its cluster and is known to it.
func (s *Set) joined() bool {
	if !s.Meta.caughtUp.Load() || s.Meta.Machine.Routing().Version == 0 {
		return false
	}
	_, known := s.Meta.Machine.Host(s.config.Self.ID)
	return known && (!s.Meta.leads() || !s.Meta.mayRaise())
}

// What Ready may say.
var (
	errNotJoined = errors.New("server: the host has not joined its cluster yet")
	errForeign   = errors.New("server: the cluster has another id or another number of shards than this host is configured for")
	ErrNotReady  = errors.New("not ready")
)

// Ready returns what this host still lacks to serve everything, nil where it lacks nothing.
func (s *Set) Ready() error {
	if s.foreign.Load() {
		return errForeign
	}
	if !s.joined() {
		return errNotJoined
	}
	now := s.Now()
	for _, r := range s.Replicas {
		l := r.Leader()
		switch {
		case l.Leader == 0:
			return fmt.Errorf("server: shard %d has no leader that this host knows of: %w", r.ID, ErrNotReady)
		case l.Leader == s.config.Self.ID && (!r.duty.ready() || r.Level() < s.Meta.Machine.Level()):
			return fmt.Errorf("server: this host begins to lead shard %d: %w", r.ID, ErrNotReady)
		case r.fresh.age(now) > staleAfter && !r.fresh.confirmed(readyWait): // no read had needed it for a while
			return fmt.Errorf("server: this host has not made sure lately that its copy of shard %d is up to date: %w",
				r.ID, ErrNotReady)
		}
	}
	return nil
}
