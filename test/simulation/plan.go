package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/shard/memlog"
	"github.com/signalbox/signalbox/test/workload"
)

// Plan is what a world is like. It is drawn from a seed; a test may change it before it is played.
type Plan struct {
	Seed   uint64
	Length time.Duration // of the time in which programs work and faults happen
	Hosts  int
	Shards int
	Log    memlog.Config // its hosts are filled in
	Rates  []float64     // how fast the hosts' clocks run; the clients' run at 1
	Node   client.NodeConfig
	Graces []time.Duration // that the operator alters the node's to

	// Upgrades are when the hosts get a build that can follow the newest feature level, in place of one of the level
	// before. A host begins to follow when it is started the next time.
	Upgrades []time.Duration

	Clients []ClientPlan
	Faults  []Fault
	// Operator does what only operators do: ends sessions, alters and drops nodes, deletes by force.
	Operator bool
	// Settle is how long after the end of all faults everything must be in order.
	Settle time.Duration
}

// ClientPlan is one client.
type ClientPlan struct {
	Wire     time.Duration // how long a message takes
	Timeouts []time.Duration
	Watchers int
	// Think is the mean pause of a program between two doings.
	Think time.Duration
}

// weather is how bad it gets.
type weather int

const (
	calm   weather = iota // nothing goes wrong
	breezy                // now and then something small
	stormy                // one thing upon the other
)

// Draw makes the plan of a seed.
func Draw(seed uint64) Plan {
	dice := rand.New(rand.NewPCG(seed, 1))
	p := Plan{
		Seed: seed, Hosts: workload.Pick(dice, 1, 3, 3, 3, 3, 3, 3, 5), Shards: 1 + dice.IntN(2),
		Length:   time.Duration(1+dice.IntN(4)) * time.Minute,
		Operator: dice.IntN(3) > 0,
	}
	p.Log = memlog.Config{
		Seed:                seed,
		ElectionTimeout:     workload.Pick(dice, 300*time.Millisecond, time.Second),
		CheckQuorum:         dice.IntN(2) == 0,
		LateOutcome:         workload.Pick(dice, 0, 0, 0.01),
		UnknownOnTermChange: workload.Pick(dice, 0, 0.5, 1),
		SnapshotEvery:       workload.Pick(dice, uint64(0), 20, 200, 2000),
		SnapshotKeep:        workload.Pick(dice, uint64(0), 10, 100),
		Path:                memlog.Path{Delay: memlog.Between(0, workload.Pick(dice, 0, time.Millisecond, 5*time.Millisecond)), Reorder: dice.IntN(2) == 0},
		Disk:                memlog.Between(0, workload.Pick(dice, 0, time.Millisecond, 5*time.Millisecond)),
	}
	// Clocks of hosts differ by up to half a percent, which is what their proof allows, and from those of the
	// clients by up to four.
	rate := 1 + workload.Pick(dice, 0, 0.04*(2*dice.Float64()-1))
	for range p.Hosts {
		p.Rates = append(p.Rates, rate*(1+0.005*(2*dice.Float64()-1)))
	}
	p.Graces = []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second}
	p.Node = client.NodeConfig{
		SelfCheckPeriod:    workload.Pick(dice, 500*time.Millisecond, time.Second),
		SessionGracePeriod: p.Graces[dice.IntN(len(p.Graces))],
		AttachConsistency:  workload.Pick(dice, client.Strict, client.Relaxed),
		ReadConsistency:    workload.Pick(dice, client.Strict, client.Relaxed),
	}
	for range 2 + dice.IntN(4) {
		p.Clients = append(p.Clients, drawClient(dice))
	}
	pace := 1
	if dice.IntN(20) == 0 {
		pace = longDay
		p.Length *= time.Duration(pace)
		for i := range p.Clients {
			p.Clients[i].Think *= time.Duration(pace)
		}
	}
	p.drawUpgrades(rand.New(rand.NewPCG(seed, 2)))
	p.Faults = drawFaults(dice, &p, workload.Pick(dice, calm, breezy, breezy, stormy, stormy, stormy), pace)
	// The longest timeout and grace by the slowest clock, the sweep that finds what every message missed, and
	// the time in which clients find their hosts again.
	p.Settle = 75 * time.Second
	return p
}

// drawUpgrades has the hosts begin with the newest build, or get it one after the other in the middle of the work.
func (p *Plan) drawUpgrades(dice *rand.Rand) {
	p.Upgrades = make([]time.Duration, p.Hosts)
	if dice.IntN(2) == 0 {
		return
	}
	for i := range p.Upgrades {
		p.Upgrades[i] = time.Duration(1 + dice.Int64N(int64(p.Length/2)))
	}
}

// longDay is how much slower everything happens, and how much longer, on a day on which little does.
const longDay = 60

// LongDay tells whether it is one.
func (p *Plan) LongDay() bool { return p.Length >= longDay*time.Minute }

func drawClient(dice *rand.Rand) ClientPlan {
	c := ClientPlan{
		Wire:     time.Duration(dice.Int64N(int64(workload.Pick(dice, 100*time.Microsecond, 2*time.Millisecond, 20*time.Millisecond)))),
		Watchers: dice.IntN(4),
		Think:    workload.Pick(dice, 50*time.Millisecond, 200*time.Millisecond, time.Second),
	}
	for range 1 + dice.IntN(6) {
		c.Timeouts = append(c.Timeouts, workload.Pick(dice, time.Second, 2*time.Second, 5*time.Second, 10*time.Second))
	}
	return c
}

// String tells in a line what the plan is like.
func (p Plan) String() string {
	sessions := 0
	for _, c := range p.Clients {
		sessions += len(c.Timeouts)
	}
	return fmt.Sprintf("seed %d: %v, %d hosts, %d shards, %d clients with %d sessions, %d faults",
		p.Seed, p.Length, p.Hosts, p.Shards, len(p.Clients), sessions, len(p.Faults))
}
