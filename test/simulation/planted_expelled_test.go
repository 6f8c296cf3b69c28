package simulation_test

import (
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/simulation"
)

// expelledWhileCutOff makes a host lead the data shard, partitions it from its peers, and expels it while its clients
// still reach it. Then the grace period is lowered, and other hosts lead in turn: they wait only for the lower grace
// period if the partitioned host no longer counts.
func expelledWhileCutOff(p *simulation.Plan) {
	const cutOff, meanwhile = 1, 2 // by order of living hosts
	p.Hosts, p.Shards, p.Rates = 5, 1, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}
	p.Upgrades, p.Operator, p.Log.CheckQuorum, p.Policy.BalanceEvery = nil, false, false, 0
	p.Node.SessionGracePeriod, p.Graces = 10*time.Second, []time.Duration{2 * time.Second}
	p.Node.AttachConsistency = client.Relaxed
	for i := range p.Clients {
		p.Clients[i].Timeouts = []time.Duration{time.Second, time.Second, 2 * time.Second, 2 * time.Second}
	}
	p.Length = 90 * time.Second
	const at = 30 * time.Second
	p.Faults = []simulation.Fault{
		{Kind: simulation.Election, At: at - 6*time.Second, Host: meanwhile, Shard: 0},
		{Kind: simulation.Election, At: at - 5*time.Second, Host: cutOff, Shard: 1},
		{Kind: simulation.Isolation, At: at, For: 25 * time.Second, Host: cutOff},
		{Kind: simulation.Expel, At: at + 100*time.Millisecond, Host: cutOff},
		{Kind: simulation.LowerGrace, At: at + 1500*time.Millisecond},
		{Kind: simulation.Election, At: at + 4*time.Second, Host: meanwhile + 1, Shard: 1},
		{Kind: simulation.Election, At: at + 5*time.Second, Host: meanwhile + 2, Shard: 1},
	}
}

// expelledConfirm: a host to be expelled counts as having seen every grace change, as soon as its expulsion is
// requested.
func expelledConfirm() *simulation.Bug {
	var mu sync.Mutex
	var expelled []shard.HostID
	note := func(c *meta.Command) {
		x, is := c.Request.(*meta.HostExpel)
		if !is {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for id := shard.HostID(1); id <= 9; id++ {
			if servertest.Name(id) == x.Host {
				expelled = append(expelled, id)
			}
		}
	}
	confirm := func(b *meta.Batch) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range b.Commands {
			if c.Kind != meta.CmdHostObservation {
				continue
			}
			for _, id := range expelled {
				c.Host.ID = id
				b.Commands = append(b.Commands, c)
			}
		}
	}
	return &simulation.Bug{Config: func(c *server.Config) {
		open := c.Logs
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			l, err := open(id, sm)
			if err != nil || id != 0 {
				return l, err
			}
			return &confirmingLog{fullLog: fullLog{memberLog: l.(memberLog), alter: note}, confirm: confirm}, nil
		}
	}}
}

// confirmingLog is the meta shard's log with a bug in the leader's reports.
type confirmingLog struct {
	fullLog
	confirm func(*meta.Batch)
}

// Propose implements shard.Log.
func (c *confirmingLog) Propose(batch []byte, done func(shard.Outcome)) error {
	var b meta.Batch
	if err := meta.DecodeBatch(batch, &b, level.Newest); err != nil {
		panic(err)
	}
	c.confirm(&b)
	altered, err := meta.AppendBatch(nil, &b)
	if err != nil {
		panic(err)
	}
	return c.fullLog.Propose(altered, done)
}

// TestAHostThatIsExpelledWhileItIsCutOffCounts: without the planted bug, no session ends while its client believes in
// it.
func TestAHostThatIsExpelledWhileItIsCutOffCounts(t *testing.T) {
	p := simulation.DrawMembers(1)
	expelledWhileCutOff(&p)
	sum := &totals{}
	check(t, p, run(t, p, nil, sum), sum)
	if sum.faults[simulation.LowerGrace] == 0 {
		t.Error("the grace was not lowered")
	}
}

// twoAreExpelled expels two of three voters in turn, in a cluster of five.
func twoAreExpelled(p *simulation.Plan) {
	p.Hosts, p.Shards, p.Rates = 3, 1, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}
	p.Upgrades, p.Operator, p.Policy.Voters = nil, false, 3
	p.Length = time.Minute
	p.Faults = []simulation.Fault{
		{Kind: simulation.Join, At: 5 * time.Second},
		{Kind: simulation.Join, At: 10 * time.Second},
		{Kind: simulation.Expel, At: 30 * time.Second, Host: 1},
		{Kind: simulation.Expel, At: 30 * time.Second, Host: 2},
	}
}

// expelledEnd: a host exits as soon as it is to be expelled, although it may still vote.
func expelledEnd() *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		changed := c.HostsChanged
		c.HostsChanged = func(r *hosts.Records) {
			if changed != nil {
				changed(r)
			}
			if h := r.Host(c.ID); h != nil && !h.Living() {
				c.Halt(server.ErrRefused)
			}
		}
	}}
}
