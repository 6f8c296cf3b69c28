//go:build linux

package chaos

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

// Kind says what goes wrong.
type Kind string

// The kinds of faults.
const (
	// KillOne, KillLeader, KillTwo, KillAll: processes of hosts are killed, and are started again later.
	KillOne    Kind = "kill a host"
	KillLeader Kind = "kill the leader"
	KillTwo    Kind = "kill two hosts"
	KillAll    Kind = "kill all hosts"
	// CrashRound: all hosts are killed and started again, one after the other, in a random order.
	CrashRound Kind = "kill one host after the other"
	// KillSaving: a host is killed while it saves, receives or sends a snapshot. That happens in every act.
	KillSaving Kind = "kill a host in a snapshot"
	// Lag: a host that does not lead is isolated, so that it is sent a snapshot. That happens before some of those
	// kills.
	Lag Kind = "let a host lag"
	// HandOver: the leader gets SIGTERM, and is started again later. RestartRound: so does one host after the other, in
	// a random order.
	HandOver     Kind = "hand over"
	RestartRound Kind = "rolling restart"
	// PauseHost, PauseLeader: a host's process stands still.
	PauseHost   Kind = "pause a host"
	PauseLeader Kind = "pause the leader"
	// Isolate, IsolateLeader: no message between a host and the others arrives. OneWay: none from it, or none to it.
	// CutOff: neither hosts nor clients reach it.
	Isolate       Kind = "isolate a host"
	IsolateLeader Kind = "isolate the leader"
	OneWay        Kind = "cut a host off one way"
	CutOff        Kind = "cut a host off from all"
	// SlowHosts: messages between hosts take long. Narrow: few bytes of them pass in a second.
	SlowHosts Kind = "delay between hosts"
	Narrow    Kind = "throttle between hosts"
	// ResetHosts, ResetClients: connections break. LoseClients: nothing passes on the connections of clients to a host,
	// and only new ones work.
	ResetHosts   Kind = "reset connections of a host"
	ResetClients Kind = "reset connections of clients"
	LoseClients  Kind = "lose connections of clients"
	// FullDisk: a host finds too little room on its disk.
	FullDisk Kind = "full disk"
	// FullStart: a host is killed, and finds no room on its disk when it is started.
	FullStart Kind = "start without room"
	// SetBack: a host is started with a copy of its directory of some time before. TwoCopies: another host is started
	// with a copy of a running host's directory.
	SetBack   Kind = "set a directory back"
	TwoCopies Kind = "two copies of a directory"

	// Join: a host with an empty directory joins. KillJoiner: it is killed while it joins, and started again.
	Join       Kind = "join a host"
	KillJoiner Kind = "kill a host that joins"
	// Wipe: a host loses its directory, and another one takes its place.
	Wipe Kind = "replace a wiped host"
	// Drain: a host hands over what it has, until it is undrained. Expel: a host is made to leave while it runs.
	// RestartDrained: a host that is being drained, or is drained, is killed or stopped, and started again.
	Drain          Kind = "drain a host"
	RestartDrained Kind = "restart a drained host"
	Expel          Kind = "expel a host"
	// Transfer: a shard is to be led by another host.
	Transfer Kind = "transfer a shard"
	// KillGovernor: the host that governs is killed, while a step is open if there is one soon.
	KillGovernor Kind = "kill the governor"

	// PauseClient: a client's process stands still. KillClient: it is killed, and started again.
	PauseClient Kind = "pause a client"
	KillClient  Kind = "kill a client"
	// Apart, ApartOneWay: a client and a host do not reach each other. SlowClient: its messages take long. ResetClient:
	// its connections break.
	Apart       Kind = "client and host apart"
	ApartOneWay Kind = "client and host apart one way"
	SlowClient  Kind = "slow client"
	ResetClient Kind = "reset connections of a client"
)

var hostFaults = []Kind{
	KillOne, KillOne, KillLeader, KillLeader, KillTwo, KillAll, CrashRound, HandOver, HandOver, RestartRound,
	PauseHost, PauseLeader, PauseLeader, Isolate, IsolateLeader, IsolateLeader, OneWay, OneWay, CutOff,
	SlowHosts, Narrow, ResetHosts, ResetClients, LoseClients, FullDisk, FullDisk,
	FullStart, SetBack, SetBack, TwoCopies,
}

var memberFaults = []Kind{
	Join, Join, Join, KillJoiner, KillJoiner, Wipe, Wipe, Drain, RestartDrained, RestartDrained, Expel, Transfer,
	KillGovernor, KillGovernor,
}

var clientFaults = []Kind{PauseClient, PauseClient, KillClient, Apart, ApartOneWay, SlowClient}

// driverFaults are those of clients behind drivers, besides.
var driverFaults = append(slices.Clip(clientFaults), ResetClient)

// hosts is how many there are at first, and room how many there may be. shards is how many data shards there are, and
// replicas on how many hosts each is; 0 is for all.
var hosts, room, shards, replicas = 3, 5, 2, 0

// spreadOver has a run begin with so many hosts, each with a part of the data shards.
func spreadOver(n int) { hosts, room, shards, replicas = n, n+2, 2*n, 3 }

const (
	// localClients is how many clients work in the process of the run, and remoteClients how many in processes of their
	// own.
	localClients  = 2
	remoteClients = 2
	clients       = localClients + remoteClients
	// resident is the number of the client that works through all acts. Clients behind drivers are numbered after it.
	resident = clients
)

// Fault is something that goes wrong at some time of an act, for a while.
type Fault struct {
	Kind   Kind          `json:"kind"`
	At     time.Duration `json:"at"`
	For    time.Duration `json:"for"`
	Order  []int         `json:"order"` // of hosts, in which the fault begins at them
	Client int           `json:"client"`
	Amount float64       `json:"amount"` // 0 to 1: how bad it is
}

// host is the host of a fault of one host.
func (f Fault) host() int { return f.Order[0] }

// remote is the client of a fault of a client in a process of its own.
func (f Fault) remote() int {
	if f.Client > resident {
		return f.Client
	}
	return localClients + f.Client%remoteClients
}

// disturbed is the client that alone is disturbed by the fault, negative where any may be.
func (f Fault) disturbed() int {
	switch f.Kind {
	case PauseClient, KillClient:
		return f.remote()
	case Apart, ApartOneWay, SlowClient, ResetClient:
		return f.Client
	}
	return -1
}

// String describes the fault in a line.
func (f Fault) String() string {
	return fmt.Sprintf("%s (hosts %v, client %d, amount %.2f) at %v for %v", f.Kind, f.Order, f.Client, f.Amount,
		f.At.Round(time.Millisecond), f.For.Round(time.Millisecond))
}

// Act is the plan of one part of a run.
type Act struct {
	Seed   uint64
	Number int
	Length time.Duration // of the time in which programs work and faults happen
	Faults []Fault
	// Batches is how many lie between two snapshots of a shard, for hosts that are started in the act; 0 for the
	// default of hosts.
	Batches int
	// Think is the mean pause of programs between two operations; 0 for one that is drawn for each client.
	Think time.Duration
	// Again is the command that runs the act once more.
	Again string
}

// calmTime is how long an act goes on at least when its last fault is over.
const calmTime = 2 * time.Second

// roundTime is about what it takes to start three hosts again, one after the other.
const roundTime = 3 * time.Second

// The bounds of how many batches lie between two snapshots. They are more often few than many: the work of a second to
// that of a quarter of a minute. A host that was down for a fifth longer than that is sent a snapshot.
const (
	leastBatches = 100
	mostBatches  = 1000
)

// Draw draws the plan of an act.
func Draw(seed uint64, number int) Act {
	a := Act{Seed: seed, Number: number, Again: fmt.Sprintf("make chaos SEED=%d ACT=%d", seed, number)}
	if replicas != 0 {
		a.Again += fmt.Sprint(" HOSTS=", hosts)
	}
	a.Batches = int(leastBatches * math.Pow(mostBatches/leastBatches, a.random(4).Float64()))
	random := a.random(0)
	at := time.Second + workload.UpTo(random, time.Second)
	for range 2 + random.IntN(4) {
		f := drawFault(random, at)
		a.Faults = append(a.Faults, f)
		a.Length = max(a.Length, f.At+f.For+calmTime)
		// Mostly one after the other, with time between them; now and then one begins while another lasts.
		if random.IntN(4) == 0 {
			at += workload.UpTo(random, f.For+time.Second)
			continue
		}
		at += f.For + time.Second + workload.UpTo(random, 3*time.Second)
		if f.Kind == RestartRound || f.Kind == CrashRound {
			at += roundTime
		}
	}
	return a
}

// withDrivers adds faults of clients behind drivers, one after the other for each. The rest of the act is the same.
func (a Act) withDrivers(drivers int) Act {
	for i := range drivers {
		random := a.random(5 + i)
		for at := workload.UpTo(random, 3*time.Second); at < a.Length; {
			f := drawFaultOf(random, at, driverFaults)
			f.Client = resident + 1 + i
			if f.At+f.For+calmTime > a.Length {
				break
			}
			a.Faults = append(a.Faults, f)
			at += f.For + workload.UpTo(random, 3*time.Second)
		}
	}
	return a
}

func drawFault(random *rand.Rand, at time.Duration) Fault {
	kinds := hostFaults
	switch random.IntN(8) {
	case 0, 1:
		kinds = clientFaults
	case 2, 3, 4:
		kinds = memberFaults
	}
	return drawFaultOf(random, at, kinds)
}

func drawFaultOf(random *rand.Rand, at time.Duration, kinds []Kind) Fault {
	f := Fault{
		Kind: workload.Pick(random, kinds...), At: at, Order: random.Perm(room), Client: random.IntN(clients),
		Amount: random.Float64(),
	}
	// Shorter than a lease lasts, about as long, and longer than any does.
	f.For = workload.UpTo(random, workload.Pick(random, time.Second, time.Second, 4*time.Second))
	if random.IntN(4) == 0 {
		f.For = longestLease + workload.UpTo(random, 2*time.Second)
	}
	switch f.Kind {
	case ResetHosts, ResetClients, ResetClient, RestartRound, CrashRound, Join, Wipe, Expel, Transfer, TwoCopies:
		f.For = 0 // they are over at once
	}
	return f
}

// gathers reports whether one of the processes has epochs that open with the last member that they need.
func (a Act) gathers() bool { return a.Number%2 == 1 }

// random returns what one part of the act draws from, by its number.
func (a Act) random(part int) *rand.Rand {
	return rand.New(rand.NewPCG(a.Seed, uint64(a.Number)<<20+uint64(part)))
}
