package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
	"github.com/signalbox/signalbox/test/workload"
)

// Plan describes a world. It is drawn from a seed; tests may change it before the run.
type Plan struct {
	Seed   uint64
	Length time.Duration // time with programs and faults
	Hosts  int
	Shards int
	Log    memlog.Config // hosts are filled in
	Rates  []float64     // how fast the hosts' clocks run; the clients' run at 1
	Node   client.NodeConfig
	Graces []time.Duration // values that the operator sets
	// Quotas are the shards' quotas, small enough to be exhausted at times; zeros for the defaults.
	Quotas shard.Limits

	// Before is the feature level supported by hosts before their upgrade.
	Before level.Level
	// Upgrades are the times at which hosts get a build that supports the newest feature level, effective at the next
	// host start.
	Upgrades []time.Duration

	Clients []ClientPlan
	Faults  []Fault
	// Apart: hosts never use their local replica of a session's home shard unless they lead it, as if each shard were
	// on one host.
	Apart bool
	// Members: hosts come and go, and the governor goes by Policy.
	Members bool
	Policy  host.Policy
	// Moves: slots move between shards all the time.
	Moves bool
	// Measured: hosts measure their disks, and may be slow.
	Measured bool
	// Restore: the cluster is replaced by a cluster restored from its backup.
	Restore *Restore

	// Room limits the number of hosts in worlds with membership changes.
	Room roomy
	// Rollouts is the pace of rollouts for clients; 0 for none.
	Rollouts time.Duration
	// Processes is the pace of coordination processes for clients; 0 for none.
	Processes time.Duration
	// Gathers: one process opens epochs only with the last required member.
	Gathers bool
	// Operator: an operator ends sessions, and alters and drops nodes.
	Operator bool
	// Recovery is the time between the end of all faults and the final state.
	Recovery time.Duration
}

// ClientPlan is one client.
type ClientPlan struct {
	Delay    time.Duration // how long a message takes
	Timeouts []time.Duration
	Watchers int
	// Think is a program's mean pause between operations.
	Think time.Duration
}

// severity is how often faults happen.
type severity int

const (
	noFaults   severity = iota
	fewFaults           // small ones, now and then
	manyFaults          // faults overlap
)

// Draw draws the plan of a seed.
func Draw(seed uint64) Plan {
	random := rand.New(rand.NewPCG(seed, 1))
	p := Plan{
		Seed: seed, Hosts: workload.Pick(random, 1, 3, 3, 3, 3, 3, 3, 5), Shards: 1 + random.IntN(2),
		Length:   time.Duration(1+random.IntN(4)) * time.Minute,
		Operator: random.IntN(3) > 0,
	}
	p.Log = memlog.Config{
		Seed:                seed,
		ElectionTimeout:     workload.Pick(random, 300*time.Millisecond, time.Second),
		CheckQuorum:         random.IntN(2) == 0,
		LateOutcome:         workload.Pick(random, 0, 0, 0.01),
		UnknownOnTermChange: workload.Pick(random, 0, 0.5, 1),
		SnapshotEvery:       workload.Pick(random, uint64(0), 20, 200, 2000),
		SnapshotKeep:        workload.Pick(random, uint64(0), 10, 100),
		Path:                memlog.Path{Delay: drawDelay(random), Reorder: random.IntN(2) == 0},
		Disk:                drawDelay(random),
	}
	// Host clocks differ by up to half a percent, as permitted by the lease proof, and from client clocks by up to
	// four.
	rate := 1 + workload.Pick(random, 0, 0.04*(2*random.Float64()-1))
	for range p.Hosts {
		p.Rates = append(p.Rates, rate*(1+0.005*(2*random.Float64()-1)))
	}
	p.Graces = []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second}
	p.Node = client.NodeConfig{
		SelfCheckPeriod:    workload.Pick(random, 500*time.Millisecond, time.Second),
		SessionGracePeriod: p.Graces[random.IntN(len(p.Graces))],
		AttachConsistency:  workload.Pick(random, client.Strict, client.Relaxed),
		ReadConsistency:    workload.Pick(random, client.Strict, client.Relaxed),
	}
	for range 2 + random.IntN(4) {
		p.Clients = append(p.Clients, drawClient(random))
	}
	pace := 1
	if random.IntN(20) == 0 {
		pace = longDay
		p.Length *= time.Duration(pace)
		for i := range p.Clients {
			p.Clients[i].Think *= time.Duration(pace)
		}
	}
	p.drawUpgrades(rand.New(rand.NewPCG(seed, 2)))
	if seed%5 == 3 {
		p.drawQuotas(rand.New(rand.NewPCG(seed, 3)))
	}
	p.Faults = drawFaults(random, &p,
		workload.Pick(random, noFaults, fewFaults, fewFaults, manyFaults, manyFaults, manyFaults), pace)
	if p.Quotas == (shard.Limits{}) {
		objects := time.Duration(1)
		if p.LongDay() {
			objects = 5
		}
		switch seed % 3 {
		case 0:
			p.Rollouts = objects
		case 1:
			p.Processes, p.Gathers = objects, seed%8 == 7
		}
	}
	// The longest timeout and grace by the slowest clock, the sweep for missed messages, and the time for clients to
	// find their hosts again.
	p.Recovery = 75*time.Second + 30*(p.Rollouts+p.Processes)*time.Second
	return p
}

// drawUpgrades gives hosts the newest build from the start, or one by one during the run.
func (p *Plan) drawUpgrades(random *rand.Rand) {
	p.Upgrades = make([]time.Duration, p.Hosts)
	if random.IntN(2) == 0 {
		return
	}
	for i := range p.Upgrades {
		p.Upgrades[i] = time.Duration(1 + random.Int64N(int64(p.Length/2)))
	}
	p.Before = level.First
}

// drawQuotas gives the shards quotas sufficient for the initial semaphores, but not for all program requests.
func (p *Plan) drawQuotas(random *rand.Rand) {
	p.Quotas = shard.Limits{
		Objects: workload.Pick(random, 0, uint64(len(targets))-2),
		Bytes:   workload.Pick(random, uint64(5<<10), 7<<10, 10<<10),
	}
}

// longDay is the factor by which a long day is longer, and its faults are rarer.
const longDay = 60

// LongDay reports whether the plan is a long day.
func (p *Plan) LongDay() bool { return p.Length >= longDay*time.Minute }

func drawDelay(random *rand.Rand) memlog.Delay {
	return memlog.Between(0, workload.Pick(random, 0, time.Millisecond, 5*time.Millisecond))
}

func drawClient(random *rand.Rand) ClientPlan {
	c := ClientPlan{
		Delay: time.Duration(random.Int64N(int64(
			workload.Pick(random, 100*time.Microsecond, 2*time.Millisecond, 20*time.Millisecond)))),
		Watchers: random.IntN(4),
		Think:    workload.Pick(random, 50*time.Millisecond, 200*time.Millisecond, time.Second),
	}
	for range 1 + random.IntN(6) {
		timeout := workload.Pick(random, time.Second, 2*time.Second, 5*time.Second, 10*time.Second)
		c.Timeouts = append(c.Timeouts, timeout)
	}
	return c
}

// String describes the plan in a line.
func (p Plan) String() string {
	sessions := 0
	for _, c := range p.Clients {
		sessions += len(c.Timeouts)
	}
	return fmt.Sprintf("seed %d: %v, %d hosts, %d shards, %d clients with %d sessions, %d faults",
		p.Seed, p.Length, p.Hosts, p.Shards, len(p.Clients), sessions, len(p.Faults))
}

// targets are the semaphores of a world.
var targets = workload.Targets(
	workload.Target{Name: "doomed-0", Limit: 2, Recreated: true, Data: true},
	workload.Target{Name: "config-0", Limit: 1, Recreated: true, Data: true},
)

// Semaphores is how many semaphores a world has.
var Semaphores = int64(len(targets))

// profile is the profile of all programs. Waiting costs no real time.
var profile = &workload.Profile{
	Targets: targets,
	Odds: workload.Odds{
		Of: 100, Acquire: 45, Use: 25, Change: 6, Update: 6, Describe: 10, WatchOnce: 2, Recreate: 3, Release: 1,
		Close: 1, CloseOne: 4,
	},
	Work: func(random *rand.Rand, timeout time.Duration) time.Duration {
		return workload.Pick(random, 10*time.Millisecond, time.Second, 2*timeout)
	},
	Timeouts:       []time.Duration{20 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second},
	LongWait:       8 * time.Second,
	ResolveTimeout: 30 * time.Second,
	Retry:          time.Second,
	LostGuards:     true,
}
