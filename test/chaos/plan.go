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

// Kind is the kind of a fault.
type Kind string

// Fault kinds.
const (
	// KillOne, KillLeader, KillTwo, KillAll: host processes are killed, and restarted later.
	KillOne    Kind = "kill a host"
	KillLeader Kind = "kill the leader"
	KillTwo    Kind = "kill two hosts"
	KillAll    Kind = "kill all hosts"
	// CrashRound: all hosts are killed and restarted in turn, in random order.
	CrashRound Kind = "kill one host after the other"
	// KillSaving: a host is killed while it saves, receives or sends a snapshot. Part of every act.
	KillSaving Kind = "kill a host in a snapshot"
	// Lag: a host that does not lead is isolated, to be sent a snapshot afterwards. Precedes some KillSaving faults.
	Lag Kind = "let a host lag"
	// HandOver: the leader gets SIGTERM, and is restarted later. RestartRound: the same for all hosts in turn, in
	// random order.
	HandOver     Kind = "hand over"
	RestartRound Kind = "rolling restart"
	// PauseHost, PauseLeader: a host's process stands still.
	PauseHost   Kind = "pause a host"
	PauseLeader Kind = "pause the leader"
	// Isolate, IsolateLeader: no messages between a host and its peers. OneWay: no messages in one direction. CutOff:
	// neither hosts nor clients reach the host.
	Isolate       Kind = "isolate a host"
	IsolateLeader Kind = "isolate the leader"
	OneWay        Kind = "cut a host off one way"
	CutOff        Kind = "cut a host off from all"
	// SlowHosts: long delays between hosts. Narrow: low bandwidth between hosts.
	SlowHosts Kind = "delay between hosts"
	Narrow    Kind = "throttle between hosts"
	// ResetHosts, ResetClients: connections break. LoseClients: client connections to a host silently stop passing
	// data; only new connections work.
	ResetHosts   Kind = "reset connections of a host"
	ResetClients Kind = "reset connections of clients"
	LoseClients  Kind = "lose connections of clients"
	// FullDisk: a host has too little disk space.
	FullDisk Kind = "full disk"
	// SlowDisk: the log syncs of the leader take long, for so long that the leaders leave the host.
	SlowDisk Kind = "slow disk of the leader"
	// FullStart: a host is killed, and restarted without disk space.
	FullStart Kind = "start without room"
	// SetBack: a host is started with an old copy of its directory. TwoCopies: a second host is started with a copy of
	// a running host's directory.
	SetBack   Kind = "set a directory back"
	TwoCopies Kind = "two copies of a directory"

	// Join: a host with an empty directory joins. KillJoiner: a joining host is killed and restarted.
	Join       Kind = "join a host"
	KillJoiner Kind = "kill a host that joins"
	// Wipe: a host loses its directory and is replaced.
	Wipe Kind = "replace a wiped host"
	// Drain: a host is drained and later undrained. Expel: a running host is removed. RestartDrained: a host is killed
	// or stopped during or after a drain, and restarted.
	Drain          Kind = "drain a host"
	RestartDrained Kind = "restart a drained host"
	Expel          Kind = "expel a host"
	// Transfer: a shard's leadership moves to another host.
	Transfer Kind = "transfer a shard"
	// KillGovernor: the governor's host is killed, during an open step if there is one soon.
	KillGovernor Kind = "kill the governor"

	// PauseClient: a client process is paused. KillClient: a client process is killed and restarted.
	PauseClient Kind = "pause a client"
	KillClient  Kind = "kill a client"
	// Apart, ApartOneWay: a client and a host are disconnected. SlowClient: long delays for a client. ResetClient: a
	// client's connections break.
	Apart       Kind = "client and host apart"
	ApartOneWay Kind = "client and host apart one way"
	SlowClient  Kind = "slow client"
	ResetClient Kind = "reset connections of a client"
)

var hostFaults = []Kind{
	KillOne, KillOne, KillLeader, KillLeader, KillTwo, KillAll, CrashRound, HandOver, HandOver, RestartRound,
	PauseHost, PauseLeader, PauseLeader, Isolate, IsolateLeader, IsolateLeader, OneWay, OneWay, CutOff,
	SlowHosts, Narrow, ResetHosts, ResetClients, LoseClients, FullDisk, FullDisk,
	FullStart, SlowDisk, SetBack, SetBack, TwoCopies,
}

var memberFaults = []Kind{
	Join, Join, Join, KillJoiner, KillJoiner, Wipe, Wipe, Drain, RestartDrained, RestartDrained, Expel, Transfer,
	KillGovernor, KillGovernor,
}

var clientFaults = []Kind{PauseClient, PauseClient, KillClient, Apart, ApartOneWay, SlowClient}

// driverFaults are the faults of driven clients.
var driverFaults = append(slices.Clip(clientFaults), ResetClient)

// hosts is the initial number of hosts, room the maximum. shards is the number of data shards, replicas the number of
// hosts per shard; 0 for all.
var hosts, room, shards, replicas = 3, 5, 2, 0

// spreadOver makes a run begin with n hosts, each with a subset of the data shards.
func spreadOver(n int) { hosts, room, shards, replicas = n, n+2, 2*n, 3 }

const (
	// localClients work in the process of the run, remoteClients in separate processes.
	localClients  = 2
	remoteClients = 2
	clients       = localClients + remoteClients
	// resident is the number of the client that works through all acts. Driven clients follow.
	resident = clients
)

// Fault is a fault at some time of an act, with a duration.
type Fault struct {
	Kind   Kind          `json:"kind"`
	At     time.Duration `json:"at"`
	For    time.Duration `json:"for"`
	Order  []int         `json:"order"` // host order in which the fault begins
	Client int           `json:"client"`
	Amount float64       `json:"amount"` // severity, 0 to 1
}

// host is the host of a single-host fault.
func (f Fault) host() int { return f.Order[0] }

// remote is the client of a fault of a client in a separate process.
func (f Fault) remote() int {
	if f.Client > resident {
		return f.Client
	}
	return localClients + f.Client%remoteClients
}

// disturbed is the only client affected by the fault, negative if any client may be affected.
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

// Act is the plan of one act.
type Act struct {
	Seed   uint64
	Number int
	Length time.Duration // time with programs and faults
	Faults []Fault
	// Batches is the number of batches between snapshots of a shard, for hosts started in the act; 0 for the hosts'
	// default.
	Batches int
	// Moves: slots move between the data shards all the time.
	Moves bool
	// Think is the mean pause between operations of a program; 0 draws one per client.
	Think time.Duration
	// Again is the command that repeats the act.
	Again string
}

// calmTime is the minimum time between an act's last fault and its end.
const calmTime = 2 * time.Second

// leaveTime is the approximate time until the leaders leave a slow host.
const leaveTime = 8 * time.Second

// roundTime is the approximate time to restart three hosts in turn.
const roundTime = 3 * time.Second

// Bounds for batches between snapshots, with small values more likely: the work of 1 s to 15 s. A host is sent a
// snapshot if it was down for 1.2 times that.
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
		// Faults are mostly sequential, with pauses; sometimes they overlap.
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

// withDrivers adds sequential faults for each driven client. The rest of the act is unchanged.
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
	// Shorter than a lease, about as long, and longer than any lease.
	f.For = workload.UpTo(random, workload.Pick(random, time.Second, time.Second, 4*time.Second))
	if random.IntN(4) == 0 {
		f.For = longestLease + workload.UpTo(random, 2*time.Second)
	}
	switch f.Kind {
	case ResetHosts, ResetClients, ResetClient, RestartRound, CrashRound, Join, Wipe, Expel, Transfer, TwoCopies:
		f.For = 0 // instantaneous
	case SlowDisk:
		f.For += leaveTime
	}
	return f
}

// gathers reports whether one of the processes opens epochs only with the last required member.
func (a Act) gathers() bool { return a.Number%2 == 1 }

// random returns the random source of one part of the act, by number.
func (a Act) random(part int) *rand.Rand {
	return rand.New(rand.NewPCG(a.Seed, uint64(a.Number)<<20+uint64(part)))
}
