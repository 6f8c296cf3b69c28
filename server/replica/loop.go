package replica

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// requestUpkeep makes the loop check the routing and the meta shard, and search every shard for remains of dead
// sessions and dropped nodes.
func (s *Set) requestUpkeep() {
	s.upkeepDue.Store(true)
	s.Wake()
}

// Wake makes the loop run a round now.
func (s *Set) Wake() {
	select {
	case s.wakes <- struct{}{}:
	default:
	}
}

// run is the loop: it handles everything with a deadline.
func (s *Set) run() {
	timer := time.NewTimer(Tick)
	defer timer.Stop()
	s.upkeepDue.Store(true)
	last := s.Now()
	for busy := last; ; {
		select {
		case <-s.stop:
			return
		case <-timer.C:
		case <-s.wakes:
			busy = s.Now()
		}
		s.resting.Store(false)
		now := s.Now()
		s.rejoin(now)
		changed := s.upkeepDue.Swap(false) || now.Sub(last) > time.Second
		if changed {
			last = now
			s.Meta.upkeep()
			if !s.joined() {
				s.upkeepDue.Store(true)
			}
		}
		for _, r := range s.All() {
			r.Pipeline.SetWall(time.Now().UnixNano() - s.Clock())
			r.leader.run(now)
			r.retireAnnounced()
			r.emptyLeft(now)
		}
		waits := s.HomeShards.run(now)
		if s.config.Maintenance(now, changed) || waits || s.stirred.Swap(false) || !s.calm() {
			busy = now
		}
		timer.Reset(s.rest(now.Sub(busy)))
	}
}

// standstill is how long a host's loop may be stalled before remote hosts may have replaced the host: no policy
// considers a host failed after a shorter silence.
const standstill = stallAfter

// rejoin is called by the loop in every round. A host that was stalled may have been replaced meanwhile, and another
// replica group may continue with the shards the host led. So the host leads no data shard before remote hosts have
// had time to refuse the host, which ends the process. Two such hosts must not consider each other a quorum.
func (s *Set) rejoin(now time.Time) {
	if s.config.Rejoin == nil {
		return
	}
	if s.stoodStill(now) && !s.rejoining.Swap(true) {
		s.retiring.Go(func() {
			s.config.Rejoin()
			s.rejoining.Store(false)
			s.Wake()
		})
	}
	s.round.Store(s.Since(now))
}

func (s *Set) stoodStill(now time.Time) bool { return s.Since(now)-s.round.Load() > int64(standstill) }

// mayLead reports whether the host may propose in data shards, or rely on their barriers.
func (s *Set) mayLead() bool {
	return s.config.Rejoin == nil || !s.rejoining.Load() && !s.stoodStill(s.Now())
}

// Stir is called when something with a deadline appears. From then on, the loop checks every Tick.
func (s *Set) Stir() {
	s.stirred.Store(true)
	if s.resting.Load() {
		s.Wake()
	}
}

// rest returns how long the loop may wait for its next round, after it was idle for the given time. The loop and the
// caller of Stir every set a flag and then read the other's flag. So at least one side sees the other's flag.
func (s *Set) rest(idle time.Duration) time.Duration {
	if idle < calmAfter {
		return Tick
	}
	s.resting.Store(true)
	if s.stirred.Load() {
		return Tick
	}
	return calmTick
}

// calm reports whether nothing on the host has a deadline, according to a check that does not search.
func (s *Set) calm() bool {
	busy := func(r *Replica) bool { return !r.calm() }
	return !s.upkeepDue.Load() && !slices.ContainsFunc(s.All(), busy)
}

func (r *Replica) calm() bool {
	if r.Hub.Len() > 0 || r.OneShots.watching.Load() > 0 || r.fresh.relied(r.set.Now()) {
		return false
	}
	t := &r.leader
	s := t.stage()
	if s.term == 0 {
		return true
	}
	_, alarm := r.nextAlarm()
	return s.serving && !alarm && r.Machine.Sessions() == 0 && r.Machine.Pending() == 0 &&
		r.Pipeline.Level() >= r.set.Meta.Machine.Level() && !t.sweep.running && t.idle()
}

// idle reports whether no work was left for the next run.
func (t *leaderTasks) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.again && len(t.suspects)+len(t.ended)+len(t.withdrawn)+len(t.quotas)+len(t.drops.nodes) == 0
}

// joined reports whether the host and its cluster know each other.
func (s *Set) joined() bool {
	if !s.Meta.CaughtUp() || s.Meta.Machine.Routing().Version == 0 {
		return false
	}
	_, known := s.Meta.Machine.Host(s.config.Self.ID)
	return known && (!s.Meta.leads() || !s.Meta.mayRaise() && !s.Meta.mayFound())
}

// Reasons that Ready may return.
var (
	errNotJoined = errors.New("server: the host has not joined its cluster yet")
	errForeign   = errors.New("server: the cluster id or the shard count differs from the host configuration")
	ErrNotReady  = errors.New("not ready")
)

// Readiness is whether a host can serve.
type Readiness struct {
	// Lacks is the reason why the host cannot serve, nil if it can.
	Lacks error
	// Away names a shard the host cannot serve now although the meta shard answers: a shard the host has served since
	// its start, or a shard without a replica here. The shard may have lost its quorum. Clients may still connect,
	// for the other shards.
	Away error
}

// Readiness returns whether the host can serve.
func (s *Set) Readiness() (is Readiness) {
	if s.foreign.Load() {
		return Readiness{Lacks: errForeign}
	}
	if missing := s.missing(); missing != "" {
		return Readiness{Lacks: fmt.Errorf("server: the host waits for replicas of shards %s: %w",
			missing, ErrNotReady)}
	}
	if !s.joined() {
		return Readiness{Lacks: errNotJoined}
	}
	known, here := s.Meta.confirmed(readyWait), true
	late := time.Now().Add(readyWait)
	for _, r := range s.All() {
		here = here && r.Holds()
		err := r.lacks(time.Until(late))
		switch {
		case err == nil:
			r.served.Store(true)
		case r.Holds() && (!r.served.Load() || !known):
			return Readiness{Lacks: err}
		case is.Away == nil:
			is.Away = err
		}
	}
	if !here && !known {
		is.Lacks = fmt.Errorf("server: locations were not confirmed recently for shards without a local replica: %w",
			ErrNotReady)
	}
	return is
}

// lacks returns why the host cannot serve the shard, nil if it can. A barrier may take up to the limit.
func (r *Replica) lacks(limit time.Duration) error {
	s, l := r.set, r.Known()
	switch {
	case l.Leader == 0:
		return fmt.Errorf("server: shard %d has no known leader: %w", r.ID, ErrNotReady)
	case l.Leader == s.config.Self.ID && (!r.leader.ready() || r.Pipeline.Level() < s.Meta.Machine.Level()):
		return fmt.Errorf("server: the host starts to lead shard %d: %w", r.ID, ErrNotReady)
	// No read has needed a proof for a while.
	case r.Holds() && r.fresh.age(s.Now()) > staleAfter && !r.fresh.confirmed(limit):
		return fmt.Errorf("server: shard %d: the local replica was not confirmed up to date recently: %w",
			r.ID, ErrNotReady)
	}
	return nil
}

const (
	// OverloadWait is how long a client is asked to wait if a queue is full.
	OverloadWait = 20 * time.Millisecond
	// quietWait is the maximum time a client is asked to wait during the rebuild wait.
	quietWait = time.Second
	// Tick is the interval at which a host checks its clocks: leases, timers, self-checks.
	Tick = 50 * time.Millisecond
	// calmTick is the interval at which a host checks its clocks while nothing has a deadline, and nothing has
	// happened for calmAfter: by then all proposals have known outcomes. calmTick is shorter than stallAfter, so that
	// a long pause is not a stall.
	calmTick  = stallAfter / 2
	calmAfter = 3 * time.Second
	// stallAfter is the maximum time between two lease checks. A longer time is a stall, and the leader assumes that
	// clients may have sent frames that were not read.
	stallAfter = time.Second
	// expireBatch is the maximum list length in one command.
	expireBatch = 2000
	// dropStep is the maximum number of items of a dropped node that one command removes.
	dropStep = 500
	// sweepEvery is the interval at which a leader asks about all its remote sessions and nodes even without a
	// reason.
	sweepEvery = 30 * time.Second
	// sweepPages is the maximum number of remote sessions per loop round the leader asks about, in pages of
	// shard.MaxPage.
	sweepPages = 8
	// readyWait is how long a readiness check may wait for the host to confirm its state.
	readyWait = time.Second
	// staleAfter is how long a replica with reads may be without a successful barrier. After this time the replica
	// ends its watches, so that clients move to a host with newer state.
	staleAfter = 5 * time.Second
)
