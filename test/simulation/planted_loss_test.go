package simulation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/simulation"
)

// lossWorld is a seed's world with majority losses, shortened: no other faults.
func lossWorld(seed uint64) simulation.Plan {
	p := simulation.DrawSpread(seed)
	p.Length, p.Operator, p.Log.CheckQuorum = 75*time.Second, false, true // a survivor that leads stops leading
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

// cutOff isolates one client from all hosts while a shard is rebuilt. The client trusts its holdings for longer than
// the rebuild takes, but not for longer than the rebuilt shard waits before it grants.
func cutOff(p *simulation.Plan) {
	p.Shards, p.Length, p.Recovery = 1, 75*time.Second, 2*time.Minute
	p.Node.SessionGracePeriod, p.Graces = 10*time.Second, []time.Duration{10 * time.Second}
	for _, c := range p.Clients {
		for i := range c.Timeouts {
			c.Timeouts[i] = 28 * time.Second
		}
	}
	p.Faults = append(p.Faults[:1], simulation.Fault{
		Kind: simulation.ClientPause, Client: 0, At: 9500 * time.Millisecond, For: 40 * time.Second,
	})
}

// elsewhere is cutOff with a session whose home is another, healthy shard. The client trusts its holdings for a minute,
// and the rebuilt shard waits at least as long.
func elsewhere(p *simulation.Plan) {
	cutOff(p)
	p.Shards, p.Length, p.Recovery = 3, 3*time.Minute, 4*time.Minute
	for _, c := range p.Clients {
		for i := range c.Timeouts {
			c.Timeouts[i] = time.Minute
		}
	}
	p.Faults[1].For = 80 * time.Second
}

// longElsewhere is elsewhere with a session timeout that the minimum wait does not cover.
func longElsewhere(p *simulation.Plan) {
	elsewhere(p)
	p.Length, p.Recovery = 5*time.Minute, 6*time.Minute
	for _, c := range p.Clients {
		for i := range c.Timeouts {
			c.Timeouts[i] = 3 * time.Minute
		}
	}
	p.Faults[1].For = 200 * time.Second
}

// TestShardsThatHaveLostTheirMajorityAreMadeAnewInTheMiddleOfARun runs worlds that permanently lose two hosts, twice,
// while programs work in all shards.
func TestShardsThatHaveLostTheirMajorityAreMadeAnewInTheMiddleOfARun(t *testing.T) {
	for _, x := range []struct {
		seed  uint64
		shape func(*simulation.Plan)
		least int // how many shards are made anew
	}{
		{lossSeed, cutOff, 1},
		{lossSeed, func(*simulation.Plan) {}, 2},
		{elsewhereSeed, elsewhere, 1},
		{elsewhereSeed, func(p *simulation.Plan) { p.Moves = true }, 1},
		{elsewhereSeed, func(p *simulation.Plan) { elsewhere(p); p.Moves = true }, 1},
	} {
		p := lossWorld(x.seed)
		x.shape(&p)
		sum := &totals{}
		h := run(t, p, nil, sum)
		check(t, p, h, sum)
		if len(h.Recoveries) < x.least {
			t.Errorf("%d shards were made anew, and at least %d should be", len(h.Recoveries), x.least)
		}
		t.Log(sum)
	}
}

// lossSeed is a seed with losses. In the world of elsewhereSeed, an isolated client owns a contended semaphore in a
// rebuilt shard that is not its session's home.
const lossSeed, elsewhereSeed = 5, 4

// plantedInLosses are bugs in shard rebuilds. Each must be detected in its seed's world.
var plantedInLosses = []struct {
	name string
	seed uint64
	make func() *simulation.Bug
	// shape, if set, turns the plan into a world in which the bug matters.
	shape func(*simulation.Plan)
}{
	{"a shard that is made anew grants at once", lossSeed, noWait, cutOff},
	{"a shard that is made anew does not wait for owners with another home", elsewhereSeed, noWait, elsewhere},
	{"a long timeout is granted that is not on record", elsewhereSeed, noBound, longElsewhere},
}

func TestPlantedBugsInLossesAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many worlds, which take minutes under the race detector")
	}
	for i, x := range plantedInLosses {
		if !isPlanted(i, len(plantedInLosses)) {
			continue
		}
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			t.Parallel() // a bubble hardly uses more than one core
			for n := range lossTries {
				p := lossWorld(x.seed)
				if x.shape != nil {
					x.shape(&p)
				}
				if f := firstFinding(run(t, p, x.make(), &totals{}), "holders"); f != nil {
					t.Logf("in run %d: %v", n, f)
					return
				}
			}
			t.Errorf("not noticed in %d runs of seed %d", lossTries, x.seed)
		})
	}
}

// lossTries is the number of runs per seed.
const lossTries = 25

// renewing is a host's replicas with a bug in shard rebuilds.
type renewing struct {
	replica.Replicas
	renew func(old *machine.Machine, group uint64, renew func() (shard.Saver, error)) (shard.Saver, error)
}

// Renew implements replica.Replicas.
func (r renewing) Renew(ctx context.Context, id, to, group uint64, before shard.StateMachine,
	renew func() (shard.Saver, error)) error {
	return r.Replicas.Renew(ctx, id, to, group, before, func() (shard.Saver, error) {
		return r.renew(before.(*machine.Follower).Machine, group, renew)
	})
}

// noWait: a rebuilt shard grants before all owners know of their loss.
func noWait() *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		renew := func(old *machine.Machine, group uint64, _ func() (shard.Saver, error)) (shard.Saver, error) {
			made, err := old.Renew(machine.Renewal{Group: group, Jump: machine.JumpOver(time.Minute)})
			if err != nil {
				return nil, err
			}
			end := shard.Command{Level: made.Level(), Kind: shard.CmdGroupWait, Count: group, Flags: shard.FlagOperator}
			made.Apply(&shard.Batch{Commands: []shard.Command{end}}, new(shard.Effects))
			return made, nil
		}
		c.Replicas = renewing{c.Replicas, renew}
	}}
}

// noBound: a leader treats the unrecorded longest session timeout as recorded. The shard's survivor knows no session,
// and so no timeout either.
func noBound() *simulation.Bug {
	unrecorded := withFullLog(func(id uint64, l *fullLog) {
		if id != 0 {
			return
		}
		l.alter = func(c *meta.Command) {
			if b, is := c.Request.(*meta.ShardBound); is {
				b.Bound.Longest = shard.Longest{}
			}
		}
	})
	return &simulation.Bug{Config: func(c *server.Config) {
		unrecorded.Config(c)
		renew := func(old *machine.Machine, _ uint64, renew func() (shard.Saver, error)) (shard.Saver, error) {
			endSessions(old)
			return renew()
		}
		c.Replicas = renewing{c.Replicas, renew}
	}}
}

// endSessions ends the sessions of a home.
func endSessions(m *machine.Machine) {
	b := shard.Batch{Stamp: clock.Stamp{Term: m.Term()}}
	for at, over := shard.Cursor(0), false; !over; {
		at, over = m.WalkSessions(at, func(v shard.SessionView) {
			if v.Home {
				end := shard.Command{Level: m.Level(), Kind: shard.CmdSessionEnd, Session: v.ID}
				b.Commands = append(b.Commands, end)
			}
		})
	}
	m.Apply(&b, new(shard.Effects))
}
