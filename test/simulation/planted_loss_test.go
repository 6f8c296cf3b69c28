package simulation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/simulation"
)

// lossWorld is the world of a seed in which shards lose their majority, made short: nothing else goes wrong.
func lossWorld(seed uint64) simulation.Plan {
	p := simulation.DrawSpread(seed)
	p.Length, p.Operator = 75*time.Second, false
	p.Policy.OfflineAfter = 2 * time.Second
	p.Faults = nil
	for n := range 2 {
		p.Faults = append(p.Faults, simulation.Fault{
			Kind: simulation.Lose, At: time.Duration(10+30*n) * time.Second, Shard: uint64(n), Amount: 0.4,
		})
	}
	for i := range p.Clients {
		p.Clients[i].Think = 20 * time.Millisecond
	}
	return p
}

// busyLosses is a world with more losses, and many programs, so that in each moment something is under way.
func busyLosses(p *simulation.Plan) {
	p.Hosts, p.Shards, p.Length, p.Faults = 9, 2, 95*time.Second, nil
	for n := range 3 {
		p.Faults = append(p.Faults, simulation.Fault{
			Kind: simulation.Lose, At: time.Duration(10+25*n) * time.Second, Shard: uint64(n), Amount: 0.3 * float64(n),
		})
	}
	for len(p.Clients) < 6 {
		p.Clients = append(p.Clients, p.Clients[0])
	}
	for i := range p.Clients {
		p.Clients[i].Think, p.Clients[i].Delay = 5*time.Millisecond, time.Millisecond
		p.Clients[i].Timeouts = []time.Duration{2 * time.Second, 5 * time.Second, 5 * time.Second, 10 * time.Second}
	}
}

// TestShardsThatHaveLostTheirMajorityAreMadeAnewInTheMiddleOfARun plays worlds in which two hosts are lost for good,
// twice, while programs work in all shards.
func TestShardsThatHaveLostTheirMajorityAreMadeAnewInTheMiddleOfARun(t *testing.T) {
	p := lossWorld(lossSeed)
	sum := &totals{}
	h := run(t, p, nil, sum)
	check(t, p, h, sum)
	if len(h.Recoveries) < 2 {
		t.Errorf("%d shards were made anew, and at least two should be", len(h.Recoveries))
	}
	t.Log(sum)
}

// lossSeed is a seed whose world has losses.
const lossSeed = 5

// plantedInLosses are mistakes that are made where a shard is made anew. Each must be noticed, in the world of its
// seed.
var plantedInLosses = []struct {
	name string
	seed uint64
	make func() *simulation.Bug
	// shape, if it is set, makes a world of the plan in which it matters.
	shape func(*simulation.Plan)
}{
	{"a shard that is made anew grants at once", lossSeed, noQuiet, nil},
	{"a shard that is made anew forgets the numbers of guests", lossSeed, noGuests, busyLosses},
	{"what a survivor did not know to be committed is gone", lossSeed, noTail, busyLosses},
}

// TestPlantedBugsInLossesAreNoticed plays the worlds of the mistakes above.
func TestPlantedBugsInLossesAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many worlds, which take minutes under the race detector")
	}
	for i, x := range plantedInLosses {
		if !isPlanted(i, len(plantedInLosses)) {
			continue
		}
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			t.Parallel() // the world of a bubble hardly occupies more than one core
			for n := range lossTries {
				p := lossWorld(x.seed)
				if x.shape != nil {
					x.shape(&p)
				}
				if f := firstFinding(run(t, p, x.make(), &totals{}), ""); f != nil {
					t.Logf("in run %d: %v", n, f)
					return
				}
			}
			t.Errorf("not noticed in %d runs of seed %d", lossTries, x.seed)
		})
	}
}

// lossTries is how often the world of a seed is played.
const lossTries = 25

// renewing is the replicas of a host with a mistake in how a shard is made anew.
type renewing struct {
	replica.Replicas
	before func(shard uint64, m *shard.Follower) shard.StateMachine // may be nil
	renew  func(old *shard.Machine, group uint64, renew func() (shard.Saver, error)) (shard.Saver, error)
}

// Renew implements replica.Replicas.
func (r renewing) Renew(ctx context.Context, id, to, group uint64, before shard.StateMachine,
	renew func() (shard.Saver, error)) error {
	old := before.(*shard.Follower)
	if r.before != nil {
		before = r.before(id, old)
	}
	return r.Replicas.Renew(ctx, id, to, group, before, func() (shard.Saver, error) {
		if r.renew == nil {
			return renew()
		}
		return r.renew(old.Machine, group, renew)
	})
}

// noQuiet: a shard that was made anew grants before all owners know that they own no more.
func noQuiet() *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		c.Replicas = renewing{Replicas: c.Replicas, renew: func(old *shard.Machine, group uint64,
			_ func() (shard.Saver, error)) (shard.Saver, error) {
			return old.Renew(shard.Renewal{Group: group, Jump: shard.JumpOver(time.Minute),
				Unknown: uint64(time.Minute.Milliseconds())})
		}}
	}}
}

// allDead takes every session for one that is over.
type allDead struct{}

// Liveness implements shard.Directory.
func (allDead) Liveness(shard.SessionID) shard.Liveness { return shard.Dead }

// noGuests: the guests of a shard that was made anew are gone, with the numbers that they have used.
func noGuests() *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		c.Replicas = renewing{Replicas: c.Replicas, renew: func(old *shard.Machine, _ uint64,
			renew func() (shard.Saver, error)) (shard.Saver, error) {
			var guests []shard.SessionID
			for at, over := shard.Cursor(0), false; !over; {
				guests, at, over = old.DeadGuests(at, allDead{}, guests)
			}
			var out shard.Effects
			old.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionsForget, Level: old.Level(),
				Sessions: guests}}}, &out)
			return renew()
		}}
	}}
}

// appliedTo is how far a host has applied the logs of its shards.
type appliedTo map[uint64]uint64

// counted counts what is applied to a machine.
type counted struct {
	shard.StateMachine
	of uint64
	to appliedTo
}

// Apply implements shard.StateMachine.
func (c counted) Apply(entries []shard.Entry) error {
	c.to[c.of] = entries[len(entries)-1].Index
	return c.StateMachine.Apply(entries)
}

// tailless is a machine that gets no entries behind some index.
type tailless struct {
	*shard.Follower
	last uint64
}

// Apply implements shard.StateMachine.
func (t tailless) Apply(entries []shard.Entry) error {
	for i := range entries {
		if entries[i].Index > t.last {
			entries = entries[:i]
			break
		}
	}
	return t.Follower.Apply(entries)
}

// noTail: a shard that is made anew goes on with what the survivor knew to be committed.
func noTail() *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		open, to := c.Logs, make(appliedTo)
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			return open(id, counted{sm, id, to})
		}
		c.Replicas = renewing{Replicas: c.Replicas, before: func(id uint64, m *shard.Follower) shard.StateMachine {
			return tailless{m, to[id]}
		}}
	}}
}
