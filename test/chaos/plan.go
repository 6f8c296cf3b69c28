//go:build linux

package chaos

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

// Kind is what goes wrong.
type Kind string

// The kinds of faults.
const (
	// KillOne, KillLeader, KillTwo, KillAll: processes of hosts end without a word, and are started again later.
	KillOne    Kind = "kill a host"
	KillLeader Kind = "kill the leader"
	KillTwo    Kind = "kill two hosts"
	KillAll    Kind = "kill all hosts"
	// CrashRound: all hosts are killed and started again, one after the other, in a random order.
	CrashRound Kind = "kill one host after the other"
	// KillSaving: a host is killed while it saves, receives or sends a snapshot. That happens in every act.
	KillSaving Kind = "kill a host in a snapshot"
	// Lag: a host that does not lead is isolated, so that it is sent a snapshot. That happens before some of those kills.
	Lag Kind = "let a host lag"
	// HandOver: the leader is told to go, and is started again later. RestartRound: so is one host after the
	// other, in a random order.
	HandOver     Kind = "hand over"
	RestartRound Kind = "rolling restart"
	// PauseHost, PauseLeader: a host's process stands still.
	PauseHost   Kind = "pause a host"
	PauseLeader Kind = "pause the leader"
	// Isolate, IsolateLeader: a host and the others do not hear each other. OneWay: it is not heard, or does not
	// hear. CutOff: neither hosts nor clients reach it.
	Isolate       Kind = "isolate a host"
	IsolateLeader Kind = "isolate the leader"
	OneWay        Kind = "cut a host off one way"
	CutOff        Kind = "cut a host off from all"
	// SlowHosts: what hosts send each other takes long. Narrow: little of it passes.
	SlowHosts Kind = "delay between hosts"
	Narrow    Kind = "throttle between hosts"
	// ResetHosts, ResetClients: connections break. LoseClients: connections of clients to a host go silent, and
	// only new ones work.
	ResetHosts   Kind = "reset connections of a host"
	ResetClients Kind = "reset connections of clients"
	LoseClients  Kind = "lose connections of clients"
	// FullDisk: a host finds too little room on its disk.
	FullDisk Kind = "full disk"

	// PauseClient: a client's process stands still. KillClient: it ends; another one takes its place.
	PauseClient Kind = "pause a client"
	KillClient  Kind = "kill a client"
	// Apart, ApartOneWay: a client and a host do not reach each other. SlowClient: its messages take long.
	Apart       Kind = "client and host apart"
	ApartOneWay Kind = "client and host apart one way"
	SlowClient  Kind = "slow client"
)

var hostFaults = []Kind{
	KillOne, KillOne, KillLeader, KillLeader, KillTwo, KillAll, CrashRound, HandOver, HandOver, RestartRound,
	PauseHost, PauseLeader, PauseLeader, Isolate, IsolateLeader, IsolateLeader, OneWay, OneWay, CutOff,
	SlowHosts, Narrow, ResetHosts, ResetClients, LoseClients, FullDisk,
}

var clientFaults = []Kind{PauseClient, PauseClient, KillClient, Apart, ApartOneWay, SlowClient}

const (
	// hosts is how many there are, nearClients how many clients work in the process of the run, and farClients
	// how many in processes of their own.
	hosts       = 3
	nearClients = 2
	farClients  = 2
	clients     = nearClients + farClients
	// resident is the number of the client that works through all acts.
	resident = clients
)

// Fault is something that goes wrong at some time of an act, for a while.
type Fault struct {
	Kind   Kind          `json:"kind"`
	At     time.Duration `json:"at"`
	For    time.Duration `json:"for"`
	Order  []int         `json:"order"` // of hosts, in which they are hit
	Client int           `json:"client"`
	Amount float64       `json:"amount"` // 0 to 1: how bad it is
}

// host is the one that is hit where it is one.
func (f Fault) host() int { return f.Order[0] }

// far is the client in a process of its own that is hit where it must be such a one.
func (f Fault) far() int { return nearClients + f.Client%farClients }

// sufferer is the client that alone suffers from the fault, negative where anybody may.
func (f Fault) sufferer() int {
	switch f.Kind {
	case PauseClient, KillClient:
		return f.far()
	case Apart, ApartOneWay, SlowClient:
		return f.Client
	}
	return -1
}

// String tells the fault in a line.
func (f Fault) String() string {
	return fmt.Sprintf("%s (hosts %v, client %d, amount %.2f) at %v for %v", f.Kind, f.Order, f.Client, f.Amount,
		f.At.Round(time.Millisecond), f.For.Round(time.Millisecond))
}

// Act is what a part of a run is like.
type Act struct {
	Seed   uint64
	Number int
	Length time.Duration // of the time in which programs work and faults happen
	Faults []Fault
	// Batches lie between two snapshots of a shard, for hosts that are started in the act; as many as hosts do without
	// a word where it is 0.
	Batches int
	// Again is the command that plays the act once more.
	Again string
}

// calm is how long an act goes on at least when its last fault is over.
const calm = 2 * time.Second

// roundTime is about what it takes to start three hosts again, one after the other.
const roundTime = 3 * time.Second

// leastBatches and mostBatches bound how many lie between two snapshots, more often few than many: a second's work to
// a quarter of a minute's. Who was away for so long and a fifth longer is sent a snapshot.
const (
	leastBatches = 100
	mostBatches  = 1000
)

// Draw makes the plan of an act.
func Draw(seed uint64, number int) Act {
	a := Act{Seed: seed, Number: number, Again: fmt.Sprintf("make chaos SEED=%d ACT=%d", seed, number)}
	a.Batches = int(leastBatches * math.Pow(mostBatches/leastBatches, a.dice(4).Float64()))
	dice := a.dice(0)
	at := time.Second + workload.UpTo(dice, time.Second)
	for range 2 + dice.IntN(4) {
		f := drawFault(dice, at)
		a.Faults = append(a.Faults, f)
		a.Length = max(a.Length, f.At+f.For+calm)
		// Mostly one after the other, with time to heal; now and then one into the other.
		if dice.IntN(4) == 0 {
			at += workload.UpTo(dice, f.For+time.Second)
			continue
		}
		at += f.For + time.Second + workload.UpTo(dice, 3*time.Second)
		if f.Kind == RestartRound || f.Kind == CrashRound {
			at += roundTime
		}
	}
	return a
}

func drawFault(dice *rand.Rand, at time.Duration) Fault {
	kinds := hostFaults
	if dice.IntN(4) == 0 {
		kinds = clientFaults
	}
	f := Fault{Kind: workload.Pick(dice, kinds...), At: at, Order: dice.Perm(hosts), Client: dice.IntN(clients), Amount: dice.Float64()}
	// Shorter than a lease lasts, about as long, and longer than any does.
	f.For = workload.UpTo(dice, workload.Pick(dice, time.Second, time.Second, 4*time.Second))
	if dice.IntN(4) == 0 {
		f.For = longestLease + workload.UpTo(dice, 2*time.Second)
	}
	switch f.Kind {
	case ResetHosts, ResetClients, RestartRound, CrashRound:
		f.For = 0 // they are over when they have happened
	}
	return f
}

// dice draws for one part of the act, by its number.
func (a Act) dice(part int) *rand.Rand {
	return rand.New(rand.NewPCG(a.Seed, uint64(a.Number)<<20+uint64(part)))
}
