package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
	"github.com/signalbox/signalbox/test/workload"
)

// FaultKind is the kind of a fault.
type FaultKind string

// Fault kinds.
const (
	// BadLinks: messages between hosts are slow, lost and reordered.
	BadLinks FaultKind = "bad links"
	// Isolation: no messages between a host and its peers.
	Isolation FaultKind = "isolation"
	// OneWay: messages from one host to another are lost, only in this direction.
	OneWay FaultKind = "one-way partition"
	// Split: the hosts fall into two halves.
	Split FaultKind = "split"
	// Kill: a host's process ends and is started again later.
	Kill FaultKind = "kill"
	// PowerFailure: a kill with the loss of the host's unsynced data.
	PowerFailure FaultKind = "power failure"
	// Blackout: all hosts lose their power at once.
	Blackout FaultKind = "blackout"
	// HostPause: a host is stalled, for its clients and its peers.
	HostPause FaultKind = "pause of a host"
	// SlowDisk, StuckDisk: a host's fsync takes long, or for ever.
	SlowDisk  FaultKind = "slow disk"
	StuckDisk FaultKind = "stuck disk"
	// Election: the leadership of a shard moves.
	Election FaultKind = "election"
	// Restart: a host hands over leadership, stops cleanly and is restarted.
	Restart FaultKind = "restart"

	// CutClient, CutHost: the connections of a client, or of a host with clients, break.
	CutClient FaultKind = "cut of a client's connections"
	CutHost   FaultKind = "cut of a host's connections"
	// ClientPause: no messages from or to a client until the end of the fault.
	ClientPause FaultKind = "pause of a client"
	// Apart: a client and a host are disconnected, in one or both directions.
	Apart FaultKind = "client and host apart"
	// SlowClient: a client's messages take long.
	SlowClient FaultKind = "slow client"
	// ClientDeath: a client process ends and is replaced.
	ClientDeath FaultKind = "death of a client"
)

// Fault is a fault at some time, with a duration.
type Fault struct {
	Kind   FaultKind
	At     time.Duration
	For    time.Duration
	Host   shard.HostID
	Other  shard.HostID
	Client int
	Shard  uint64
	Amount float64 // severity, 0 to 1
}

// String describes the fault in a line.
func (f Fault) String() string {
	return fmt.Sprintf("%s, host %d, other %d, client %d, shard %d, amount %.2f, at %v for %v",
		f.Kind, f.Host, f.Other, f.Client, f.Shard, f.Amount, f.At, f.For)
}

// clientOnly reports whether the fault affects a single client.
func (f Fault) clientOnly() bool {
	switch f.Kind {
	case CutClient, ClientPause, Apart, SlowClient, ClientDeath:
		return true
	}
	return false
}

var hostFaults = []FaultKind{
	BadLinks, BadLinks, Isolation, Isolation, OneWay, Split, Kill, Kill, PowerFailure, Blackout,
	HostPause, HostPause, SlowDisk, StuckDisk, Election, Election, Restart, CutHost,
}

var clientFaults = []FaultKind{CutClient, CutClient, ClientPause, ClientPause, Apart, Apart, SlowClient, ClientDeath}

// drawFaults draws the faults of a plan. A pace of n means 1/n of the faults in the same time.
func drawFaults(random *rand.Rand, p *Plan, s severity, pace int) (faults []Fault) {
	gap, long := time.Duration(0), time.Duration(0)
	switch s {
	case noFaults:
		return nil
	case fewFaults:
		gap, long = 20*time.Second, 500*time.Millisecond
	case manyFaults:
		gap = workload.Pick(random, 2*time.Second, 5*time.Second)
		long = workload.Pick(random, time.Second, 5*time.Second, 25*time.Second)
	}
	gap *= time.Duration(pace)
	for at := gap; at < p.Length; at += time.Duration(random.Int64N(int64(2 * gap))) {
		kinds := hostFaults
		if random.IntN(5) < 2 {
			kinds = clientFaults
		}
		f := Fault{
			Kind: workload.Pick(random, kinds...), At: at, For: time.Duration(random.Int64N(int64(long))),
			Host: shard.HostID(1 + random.IntN(p.Hosts)), Other: shard.HostID(1 + random.IntN(p.Hosts)),
			Client: random.IntN(len(p.Clients)), Shard: uint64(random.IntN(p.Shards + 1)), Amount: random.Float64(),
		}
		if f.Kind == ClientDeath && s != manyFaults {
			f.Kind = CutClient
		}
		faults = append(faults, f)
	}
	return faults
}

// begin starts a fault, and returns a function to end it; nil if not currently possible.
func (w *world) begin(f Fault) (end func()) {
	net := w.cluster.Net()
	switch f.Kind {
	case Join, Wipe, Drain, Cordon, Expel, Transfer, LowerGrace, KillGovernor, Lose:
		return w.change(f)
	case SlowHost:
		return w.slowHost(f)
	case BadLinks:
		return w.badLinks(f)
	case Isolation:
		if len(w.hostIDs()) == 1 {
			return nil
		}
		net.Isolate(f.Host)
		return func() {
			for other := shard.HostID(1); int(other) <= w.places(); other++ {
				if other != f.Host {
					net.Heal(f.Host, other)
					net.Heal(other, f.Host)
				}
			}
		}
	case OneWay:
		if f.Host == f.Other {
			return nil
		}
		net.Cut(f.Host, f.Other)
		return func() { net.Heal(f.Host, f.Other) }
	case Split:
		if len(w.hostIDs()) == 1 {
			return nil
		}
		net.Partition([]shard.HostID{f.Host, f.Other})
		return net.HealAll
	case Kill, PowerFailure:
		return w.crash(f.Kind == PowerFailure, f.Host)
	case Blackout:
		return w.crash(true, w.hostIDs()...)
	case HostPause:
		w.network.holdHost(f.Host, true)
		net.Pause(f.Host)
		return func() {
			net.Resume(f.Host)
			w.network.holdHost(f.Host, false)
		}
	case SlowDisk:
		net.SetDisk(f.Host, memlog.Between(0, time.Duration(f.Amount*float64(time.Second))))
		return func() { net.SetDisk(f.Host, w.plan.Log.Disk) }
	case StuckDisk:
		net.StickDisk(f.Host)
		return func() { net.FreeDisk(f.Host) }
	case Election:
		_ = w.cluster.Elect(f.Shard, f.Host) // without a possible majority, there is no election
		return func() {}
	case Restart:
		return w.restart(f.Host)
	case CutHost:
		w.cluster.CutClients(f.Host)
		return func() {}
	case CutClient:
		w.network.cut(f.Client)
		return func() {}
	case ClientPause:
		w.network.holdClient(f.Client, true)
		return func() { w.network.holdClient(f.Client, false) }
	case Apart:
		return w.network.separate(f.Client, f.Host, f.Amount)
	case SlowClient:
		w.network.setDelay(f.Client, time.Duration(f.Amount*float64(500*time.Millisecond)))
		return func() { w.network.setDelay(f.Client, w.plan.Clients[f.Client].Delay) }
	case ClientDeath:
		w.clients[f.Client].kill()
		return func() { w.clients[f.Client].start() }
	}
	panic("simulation: a fault of an unknown kind: " + f.String())
}

func (w *world) badLinks(f Fault) func() {
	net := w.cluster.Net()
	net.SetPaths(memlog.Path{
		Delay: memlog.Between(0, time.Duration(f.Amount*float64(300*time.Millisecond))),
		Loss:  f.Amount / 3, Reorder: true,
	})
	return func() { net.SetPaths(w.plan.Log.Path) }
}

// crash ends hosts. It skips hosts already down: the fault that ended them restarts them.
func (w *world) crash(loseUnsynced bool, hosts ...shard.HostID) func() {
	var down []shard.HostID
	for _, id := range hosts {
		if w.markDown(id) {
			w.cluster.Crash(id, loseUnsynced && !w.isLosing())
			down = append(down, id)
		}
	}
	return func() {
		for _, id := range down {
			w.start(id)
		}
	}
}

// restart makes a host hand over and stop. It skips a host already down: the fault that ended it restarts it.
func (w *world) restart(id shard.HostID) func() {
	if !w.markDown(id) {
		return nil
	}
	if h := w.cluster.Host(id); h != nil {
		h.Leave(time.Second)
	}
	w.cluster.Stop(id)
	return func() { w.start(id) }
}

// start starts a stopped host, unless it has left the cluster.
func (w *world) start(id shard.HostID) {
	if w.hasLeft(id) {
		return
	}
	if err := w.cluster.Restart(id); err != nil {
		w.record.Note("host %d did not start again: %v", id, err)
	}
	w.markUp(id)
}
