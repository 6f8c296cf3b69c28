package memlog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// attempt is one proposal of a simulation.
type attempt struct {
	batch   string
	host    shard.HostID
	opened  int // opening number of the host's log at proposal time
	outcome shard.Outcome
	count   int
}

// simulation drives a cluster through random faults and records the outcomes.
type simulation struct {
	*cluster
	rng      *rand.Rand
	hosts    []shard.HostID
	down     map[shard.HostID]bool
	opened   map[shard.HostID]int
	attempts []*attempt
	acked    []string // in the order of applied reports
	tally    tally
}

// tally counts the effects of fault schedules: a schedule without effects proves nothing.
type tally struct {
	applied, dropped, unknownKept, unknownLost, busy   int
	barriersPassed, barriersFailed, barriersOnFollower int
	restores, overwritten, elections, crashes          int
}

func (t *tally) add(b tally) {
	t.applied += b.applied
	t.dropped += b.dropped
	t.unknownKept += b.unknownKept
	t.unknownLost += b.unknownLost
	t.busy += b.busy
	t.barriersPassed += b.barriersPassed
	t.barriersFailed += b.barriersFailed
	t.barriersOnFollower += b.barriersOnFollower
	t.restores += b.restores
	t.overwritten += b.overwritten
	t.elections += b.elections
	t.crashes += b.crashes
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &simulation{
		rng: rng, down: map[shard.HostID]bool{}, opened: map[shard.HostID]int{},
	}
	hosts := []int{3, 3, 5}[rng.IntN(3)]
	cfg := memlog.Config{
		Seed:                seed,
		Path:                s.path(),
		Disk:                memlog.Between(0, time.Duration(rng.IntN(10))*time.Millisecond),
		CheckQuorum:         rng.IntN(2) == 0,
		ProposalTimeout:     500 * time.Millisecond,
		BarrierTimeout:      400 * time.Millisecond,
		MaxInFlight:         40,
		LateOutcome:         0.02,
		UnknownOnTermChange: 0.3,
		SnapshotEvery:       uint64(rng.IntN(30)),
		SnapshotKeep:        uint64(rng.IntN(5)),
		SnapshotSave:        memlog.Between(0, 50*time.Millisecond),
		Trace: func(r memlog.Record) {
			switch r.Kind {
			case memlog.RecordOverwritten:
				s.tally.overwritten++
			case memlog.RecordElected:
				s.tally.elections++
			}
		},
	}
	s.cluster = newCluster(t, cfg, hosts)
	for h := range hosts {
		s.hosts = append(s.hosts, shard.HostID(h+1))
	}
	return s
}

func (s *simulation) path() memlog.Path {
	l := memlog.Path{Reorder: s.rng.IntN(2) == 0}
	l.Delay.Max = time.Duration(s.rng.IntN(20)) * time.Millisecond
	l.Delay.Min = l.Delay.Max / time.Duration(1+s.rng.IntN(4))
	if s.rng.IntN(2) == 0 {
		l.Loss = s.rng.Float64() * 0.3
	}
	return l
}

func (s *simulation) anyHost() shard.HostID { return s.hosts[s.rng.IntN(len(s.hosts))] }

// fault causes or repairs a fault.
func (s *simulation) fault() {
	h, o := s.anyHost(), s.anyHost()
	switch s.rng.IntN(16) {
	case 0:
		s.net.SetPath(h, o, s.path())
	case 1:
		s.net.Cut(h, o)
	case 2:
		s.net.Isolate(h)
	case 3:
		s.net.Partition([]shard.HostID{h, o})
	case 4, 5, 6:
		s.net.HealAll()
	case 7:
		s.net.Pause(h)
	case 8, 9:
		s.net.Resume(h)
	case 10:
		s.crash(h)
	case 11, 12:
		for _, h := range s.hosts {
			s.restart(h)
		}
	case 13:
		s.net.StickDisk(h)
		s.net.AfterFunc(0, time.Duration(s.rng.IntN(300))*time.Millisecond, func() { s.net.FreeDisk(h) })
	case 14:
		s.net.SetClockRate(h, 0.9+s.rng.Float64()*0.2)
	case 15:
		if s.rng.IntN(2) == 0 {
			_ = s.group.Elect(h) // if possible
		} else {
			_ = s.logs[h].Transfer(o) // if the log is open
		}
	}
}

func (s *simulation) crash(h shard.HostID) {
	if s.down[h] {
		return
	}
	s.tally.crashes++
	s.tally.restores += s.machines[h].restores
	switch s.rng.IntN(3) {
	case 0:
		s.net.Kill(h)
	case 1:
		s.net.PowerFail(h)
	case 2:
		if err := s.logs[h].Close(); err != nil {
			s.t.Error(err)
		}
		s.net.Kill(h)
	}
	s.machines[h].closed.Store(true)
	s.down[h] = true
}

func (s *simulation) restart(h shard.HostID) {
	if !s.down[h] {
		return
	}
	if err := s.logs[h].Close(); err != nil { // for a crashed host, its callbacks run now
		s.t.Error(err)
	}
	s.down[h] = false
	s.opened[h]++
	s.net.Restart(h)
	s.open(h)
}

func (s *simulation) proposeSomewhere() {
	h := s.anyHost()
	if s.rng.IntN(4) > 0 { // mostly if permitted
		for _, o := range s.hosts {
			if s.logs[o].Leadership().Leader == o && s.rng.IntN(2) == 0 {
				h = o
			}
		}
	}
	a := &attempt{batch: fmt.Sprintf("b%d", len(s.attempts)), host: h, opened: s.opened[h]}
	err := s.logs[h].Propose([]byte(a.batch), func(o shard.Outcome) {
		a.outcome = o
		a.count++
		if o == shard.OutcomeApplied {
			s.acked = append(s.acked, a.batch)
			if !s.machines[h].holds(a.batch) {
				s.t.Errorf("host %d reports %s as applied before it is", h, a.batch)
			}
		}
	})
	switch {
	case err == nil:
		s.attempts = append(s.attempts, a)
	case errors.Is(err, shard.ErrLogBusy):
		s.tally.busy++
	case !errors.Is(err, shard.ErrLogClosed) || !s.down[h]:
		s.t.Errorf("proposing: %v", err)
	}
}

func (s *simulation) barrierSomewhere() {
	h := s.anyHost()
	before, machine := len(s.acked), s.machines[h]
	follower := s.logs[h].Leadership().Leader != h
	err := s.logs[h].Barrier(func(err error) {
		switch {
		case err == nil:
			s.tally.barriersPassed++
			if follower {
				s.tally.barriersOnFollower++
			}
			for _, b := range s.acked[:before] {
				if !machine.holds(b) {
					s.t.Errorf("host %d passes a barrier without %s, which was applied before", h, b)
				}
			}
		case errors.Is(err, shard.ErrNoQuorum):
			s.tally.barriersFailed++
		case !errors.Is(err, shard.ErrLogClosed):
			s.t.Errorf("barrier: %v", err)
		}
	})
	if err != nil && !errors.Is(err, shard.ErrLogClosed) && !errors.Is(err, shard.ErrLogBusy) {
		s.t.Errorf("barrier: %v", err)
	}
}

// run lets bad things happen for a while, then heals everything and waits until all replicas agree.
func (s *simulation) run(steps int) []string {
	for range steps {
		for range s.rng.IntN(6) {
			s.proposeSomewhere()
		}
		if s.rng.IntN(2) == 0 {
			s.barrierSomewhere()
		}
		if s.rng.IntN(4) == 0 {
			s.fault()
		}
		s.net.Advance(time.Duration(s.rng.IntN(40)) * time.Millisecond)
	}
	s.heal()
	s.net.Advance(time.Second) // blocked operations time out
	s.proposeUntilApplied()
	return s.converge()
}

// proposeUntilApplied shows that a healed cluster works.
func (s *simulation) proposeUntilApplied() {
	for range 100 {
		h := max(s.group.Leader().Leader, 1)
		a := &attempt{batch: fmt.Sprintf("b%d", len(s.attempts)), host: h, opened: s.opened[h]}
		s.attempts = append(s.attempts, a)
		err := s.logs[h].Propose([]byte(a.batch), func(o shard.Outcome) { a.outcome, a.count = o, a.count+1 })
		if err != nil {
			s.t.Fatalf("proposing: %v", err)
		}
		s.until("the outcome is there", func() bool { return a.count > 0 })
		if a.outcome == shard.OutcomeApplied {
			return
		}
		s.net.Advance(100 * time.Millisecond)
	}
	s.t.Fatalf("healed, and no batch gets through\n%v", s.group)
}

// converge waits until every replica has applied the whole committed log, and returns it.
func (s *simulation) converge() []string {
	s.until("all replicas have applied all that is committed", func() bool {
		committed, replicas := s.group.Status()
		return !slices.ContainsFunc(replicas, func(r memlog.ReplicaStatus) bool { return r.Applied < committed })
	})
	s.net.Advance(2 * time.Second) // whatever is still under way times out
	final := s.machines[1].applied()
	for _, h := range s.hosts {
		s.tally.restores += s.machines[h].restores
		if got := s.machines[h].applied(); !slices.Equal(got, final) {
			s.t.Errorf("hosts 1 and %d differ:\n%v\n%v", h, final, got)
		}
	}
	return final
}

// check compares the reported outcomes with the final log.
func (s *simulation) check(final []string) {
	place := map[string]int{}
	for i, b := range final {
		if _, twice := place[b]; twice {
			s.t.Errorf("%s is applied twice", b)
		}
		place[b] = i
	}
	type opening struct {
		host   shard.HostID
		opened int
	}
	last := map[opening]int{}
	if len(final) > len(s.attempts) {
		s.t.Errorf("%d batches are applied, and only %d can have been", len(final), len(s.attempts))
	}
	for _, a := range s.attempts {
		at, kept := place[a.batch]
		if a.count != 1 {
			s.t.Errorf("%s has %d outcomes", a.batch, a.count)
		}
		if kept {
			o := opening{a.host, a.opened}
			if before, some := last[o]; some && at < before {
				s.t.Errorf("%s of host %d overtook a batch proposed earlier there", a.batch, a.host)
			}
			last[o] = at
		}
		switch {
		case a.outcome == shard.OutcomeApplied && kept:
			s.tally.applied++
		case a.outcome == shard.OutcomeDropped && !kept:
			s.tally.dropped++
		case a.outcome == shard.OutcomeUnknown && kept:
			s.tally.unknownKept++
		case a.outcome == shard.OutcomeUnknown:
			s.tally.unknownLost++
		default:
			s.t.Errorf("%s was reported as %v, kept: %v", a.batch, a.outcome, kept)
		}
	}
}

func (s *simulation) heal() {
	s.net.HealAll()
	s.net.SetPaths(memlog.Path{Delay: memlog.Between(0, time.Millisecond)})
	for _, h := range s.hosts {
		s.net.FreeDisk(h)
		s.net.Resume(h)
		s.restart(h)
	}
}

func TestReplicasAgreeAndOutcomesAreTrueWhateverHappens(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	var all tally
	for seed := range seeds {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newSimulation(t, seed)
			s.check(s.run(300))
			all.add(s.tally)
		})
		if !ok {
			return
		}
	}
	t.Logf("in %d runs: %+v", seeds, all)
	for what, count := range map[string]int{
		"applied": all.applied, "dropped": all.dropped,
		"unknown and kept": all.unknownKept, "unknown and lost": all.unknownLost, "busy": all.busy,
		"barriers passed": all.barriersPassed, "barriers failed": all.barriersFailed,
		"followers' barriers": all.barriersOnFollower,
		"restores":            all.restores, "overwritten": all.overwritten,
		"elections": all.elections, "crashes": all.crashes,
	} {
		if count < int(seeds)/2 {
			t.Errorf("%s: only %d in %d runs", what, count, seeds)
		}
	}
}

func TestSameSeedGivesTheSameRun(t *testing.T) {
	run := func(seed uint64) (hash uint64, final []string) {
		s := newSimulation(t, seed)
		final = s.run(150)
		return s.net.TraceHash(), final
	}
	hashes := map[uint64]uint64{}
	for seed := range uint64(20) {
		first, a := run(seed)
		second, b := run(seed)
		if first != second || !slices.Equal(a, b) {
			t.Errorf("seed %d went two ways: %x and %x", seed, first, second)
		}
		if other, there := hashes[first]; there {
			t.Errorf("seeds %d and %d went the same way", seed, other)
		}
		hashes[first] = seed
	}
}

func TestSeedDecidesWhatChanceDecides(t *testing.T) {
	run := func(seed uint64) uint64 {
		c := newCluster(t, memlog.Config{Seed: seed, Path: memlog.Path{Delay: memlog.Between(0, time.Second)}}, 3)
		c.net.Advance(10 * time.Second)
		return c.net.TraceHash()
	}
	once, again, other := run(1), run(1), run(2)
	if once != again || once == other {
		t.Errorf("seed 1: %x, %x; seed 2: %x", once, again, other)
	}
}
