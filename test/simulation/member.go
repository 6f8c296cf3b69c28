package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/workload"
)

// Kinds of membership changes. Like faults they happen at some time, and some are undone. Changes that are impossible
// or refused at that time are skipped.
const (
	// Join: a host with an empty directory joins.
	Join FaultKind = "join"
	// Wipe: a host loses its directory, and a new host replaces it.
	Wipe FaultKind = "wipe"
	// Drain: a host is drained and later undrained.
	Drain FaultKind = "drain"
	// Cordon: a host gets no new replicas until uncordoned.
	Cordon FaultKind = "cordon"
	// Expel: a running host is removed. Its process continues until rejected, or for the given time.
	Expel FaultKind = "expel"
	// Transfer: the leadership of a shard moves to a given host.
	Transfer FaultKind = "transfer"
	// LowerGrace: the node's grace period is reduced to the minimum.
	LowerGrace FaultKind = "lower grace"
	// KillGovernor: the governor's host is killed while a step is open.
	KillGovernor FaultKind = "kill of the governor"
	// SlowHost: the disk of the governor's host is slow, or all disks are.
	SlowHost FaultKind = "slow host"
	// Lose: data shards lose their majority for good, with two hosts, and an operator has the shards made anew.
	Lose FaultKind = "loss of a majority"
)

// roomy limits the hosts in a world with membership changes.
type roomy struct {
	// Ever is the maximum number of hosts over time, Most the maximum number of members at once.
	Ever, Most int
}

var narrow, wide = roomy{9, 5}, roomy{maxHosts, 32}

var memberFaults = []FaultKind{
	Join, Join, Join, Wipe, Wipe, Drain, Drain, Cordon, Expel, Expel, Transfer, KillGovernor, KillGovernor,
	Kill, Kill, PowerFailure, LowerGrace, Isolation, HostPause, Restart, Restart, Election, CutHost,
}

// DrawMembers draws the plan of a world with membership changes.
func DrawMembers(seed uint64) Plan {
	p := Draw(seed)
	random := rand.New(rand.NewPCG(seed, 4))
	p.Members, p.Quotas, p.Rollouts, p.Processes = true, shard.Limits{}, 0, 0
	p.Room, p.Hosts = narrow, workload.Pick(random, 1, 1, 3, 3, 3)
	p.Length = time.Duration(3+random.IntN(3)) * time.Minute
	p.Upgrades = make([]time.Duration, narrow.Ever)
	p.Rates = nil
	for range narrow.Ever {
		p.Rates = append(p.Rates, 1+0.005*(2*random.Float64()-1))
	}
	for i := range p.Clients {
		p.Clients[i].Think = workload.Pick(random, 200*time.Millisecond, time.Second)
	}
	p.Policy = host.Policy{
		OfflineAfter: workload.Pick(random, 2*time.Second, 5*time.Second),
		ReplaceAfter: workload.Pick(random, 10*time.Second, 30*time.Second),
		StableFor:    workload.Pick(random, time.Second, 5*time.Second),
		BalanceEvery: workload.Pick(random, 0, 10*time.Second),
		Copies:       workload.Pick(random, 1, 2),
	}
	p.Faults = drawMemberFaults(random, &p)
	p.Recovery = 75 * time.Second
	return p
}

// DrawBusyMembers is DrawMembers, with rollouts in every fourth world and processes in every fourth.
func DrawBusyMembers(seed uint64) Plan {
	p := DrawMembers(seed)
	switch seed % 4 {
	case 2:
		p.Rollouts = 1
	case 3:
		p.Processes = 1
	}
	p.Recovery += 30 * (p.Rollouts + p.Processes) * time.Second
	return p
}

// DrawSpread draws a world with membership changes and more hosts than replicas per shard.
func DrawSpread(seed uint64) Plan {
	p := DrawBusyMembers(seed)
	random := rand.New(rand.NewPCG(seed, 5))
	p.Hosts, p.Shards, p.Upgrades = 5, 2+random.IntN(3), nil
	p.Policy.Replicas = workload.Pick(random, 1, 3, 3, 3)
	p.Faults = drawMemberFaults(random, &p)
	lost := rand.New(rand.NewPCG(seed, 6))
	if p.Policy.Replicas == 3 && lost.IntN(2) == 0 {
		p.drawLosses(lost)
	}
	return p
}

// DrawWide draws a world with membership changes that grows to 30 hosts, with 64 shards.
func DrawWide(seed uint64) Plan {
	p := DrawBusyMembers(seed)
	random := rand.New(rand.NewPCG(seed, 7))
	p.Room, p.Hosts, p.Shards, p.Upgrades, p.Length = wide, 9, 64, nil, 4*time.Minute
	for len(p.Rates) < wide.Ever {
		p.Rates = append(p.Rates, p.Rates[random.IntN(len(p.Rates))])
	}
	p.Policy.Replicas = 3
	p.Faults = drawMemberFaults(random, &p)
	for n := range 30 - p.Hosts {
		p.Faults = append(p.Faults, Fault{Kind: Join, At: time.Duration(5+3*n) * time.Second})
	}
	return p
}

// drawMemberFaults draws membership changes and client faults. A single-host cluster grows first.
func drawMemberFaults(random *rand.Rand, p *Plan) (faults []Fault) {
	at := 10 * time.Second
	for n := p.Hosts; n < 3; n++ {
		faults = append(faults, Fault{Kind: Join, At: at})
		at += 15 * time.Second
	}
	for ; at < p.Length; at += time.Second + time.Duration(random.Int64N(int64(10*time.Second))) {
		kinds := memberFaults
		if random.IntN(5) == 0 {
			kinds = clientFaults
		}
		faults = append(faults, Fault{
			Kind: workload.Pick(random, kinds...), At: at,
			For:  time.Duration(random.Int64N(int64(workload.Pick(random, time.Second, 20*time.Second)))),
			Host: shard.HostID(1 + random.IntN(p.Room.Ever)), Other: shard.HostID(1 + random.IntN(p.Room.Ever)),
			Client: random.IntN(len(p.Clients)), Shard: uint64(random.IntN(p.Shards + 1)), Amount: random.Float64(),
		})
	}
	return faults
}

// member returns the living host for a fault, by its number among cluster members.
func (w *world) member(n shard.HostID) shard.HostID {
	living := w.livingHosts()
	if !w.plan.Members || len(living) == 0 {
		return n
	}
	return living[int(n)%len(living)]
}

// livingHosts are cluster members with intact directories.
func (w *world) livingHosts() (list []shard.HostID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.cluster.Members() {
		if !w.gone[id] {
			list = append(list, id)
		}
	}
	return list
}

// stayingHosts are the living hosts that are not being expelled.
func (w *world) stayingHosts() []shard.HostID {
	r := w.cluster.Records()
	return slices.DeleteFunc(w.livingHosts(), func(id shard.HostID) bool {
		if r == nil {
			return false
		}
		h := r.Host(id)
		return h != nil && !h.Living()
	})
}

// change starts a membership change, and returns a function to undo it; nil if impossible or refused.
func (w *world) change(f Fault) (end func()) {
	name := servertest.Name(f.Host)
	switch f.Kind {
	case Join:
		return w.join()
	case Wipe:
		return w.wipe(f.Host)
	case Drain:
		return w.operated(&meta.HostDrain{Host: name}, &meta.HostUndrain{Host: name})
	case Cordon:
		return w.operated(&meta.HostCordon{Host: name, On: true}, &meta.HostCordon{Host: name})
	case Expel:
		return w.expel(f.Host)
	case Transfer:
		return w.operated(&meta.ShardTransfer{Shard: hosts.ShardID(f.Shard), Host: name}, nil)
	case LowerGrace:
		return w.lowerGrace()
	case Lose:
		return w.lose(f)
	case KillGovernor:
		if leader := w.cluster.Leader(0); leader != 0 && w.waitForStep(leader) {
			return w.crash(false, leader)
		}
	}
	return nil
}

// operated sends an operator's request, and returns a function to undo it; nil if the cluster refuses.
func (w *world) operated(do, undo meta.Request) (end func()) {
	if e, err := w.cluster.Do(do); err != nil || e.Status != protocol.StatusSuccess {
		return nil
	}
	return func() {
		if undo != nil {
			_, _ = w.cluster.Do(undo) // in the end all is taken back once more
		}
	}
}

// lowerGrace reduces the node's grace period to the minimum.
func (w *world) lowerGrace() (end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := client.Open(ctx, w.cluster.Addresses(), client.WithDialer(w.cluster.Dial))
	if err != nil {
		return nil
	}
	defer c.Close()
	grace := slices.Min(w.plan.Graces)
	w.record.Grace(grace)
	if _, err := c.AlterNode(ctx, path, client.NodeConfig{SessionGracePeriod: grace}); err != nil {
		return nil
	}
	return func() {}
}

// joinLimit is how long a newcomer asks.
const joinLimit = time.Minute

// join has a new host join.
func (w *world) join() (end func()) {
	w.joining <- struct{}{}
	defer func() { <-w.joining }()
	if len(w.cluster.Members()) == w.plan.Room.Ever || len(w.livingHosts()) >= w.plan.Room.Most || w.joins("") != nil {
		return nil // if it did not join, the next host gets the same directory
	}
	if w.joined != nil {
		w.joined(len(w.livingHosts()))
	}
	return func() {}
}

// joins lets the next host join, as a replacement if a host is named.
func (w *world) joins(replace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), joinLimit)
	defer cancel()
	return w.cluster.Join(ctx, shard.HostID(len(w.cluster.Members())+1), replace)
}

// wipe removes a host's directory, and lets a new host replace it. No shard loses its majority.
func (w *world) wipe(id shard.HostID) (end func()) {
	w.joining <- struct{}{}
	defer func() { <-w.joining }()
	if len(w.cluster.Members()) == w.plan.Room.Ever || w.isRefusable(id) || !w.spared(id) || !w.markDown(id) {
		return nil
	}
	w.cluster.Crash(id, true)
	w.leaves(id)
	var err error
	for range 20 { // refused while too few others are alive
		place := servertest.Name(id)
		if r := w.cluster.Records(); r != nil && r.Named(place) == nil {
			place = "" // a shard was rebuilt without the host, which was expelled
		}
		if err = w.joins(place); err == nil {
			return func() {}
		}
		time.Sleep(5 * time.Second)
	}
	w.record.Note("no host could take the place of host %d, which has lost its directory: %v", id, err)
	return nil
}

// expel removes a host, and stops it some time after it has left: until then it may be needed for a majority. If
// governors die in turn, each waits for the grace period anew, and the host has left when governors are stable.
func (w *world) expel(id shard.HostID) (end func()) {
	if len(w.stayingHosts()) <= 3 || w.isLosing() {
		return nil
	}
	w.mayBeRefused(id)
	if w.operated(&meta.HostExpel{Host: servertest.Name(id), Force: true}, nil) == nil {
		return nil
	}
	for range 10 * leavesWithin / time.Second {
		if w.isExpelled(id) {
			w.leaves(id)
			return func() { w.cluster.Crash(id, false) }
		}
		time.Sleep(time.Second / 10)
	}
	return func() {}
}

// isExpelled reports whether the cluster has recorded that a host has left. The records read may be outdated.
func (w *world) isExpelled(id shard.HostID) bool {
	r := w.cluster.Records()
	if r == nil {
		return false
	}
	h := r.Host(id)
	return h != nil && h.Current.Variant == protocol.HostExpelled
}

// leavesWithin is how long an expulsion is waited for while things go wrong.
const leavesWithin = 3 * time.Minute

// switchOff stops running hosts that have left.
func (w *world) switchOff(r *hosts.Records) {
	for _, id := range w.livingHosts() {
		if h := r.Host(id); h != nil && h.Current.Variant == protocol.HostExpelled {
			w.leaves(id)
			w.cluster.Crash(id, false)
		}
	}
}

// mayBeRefused records that a host may from now on be rejected as a non-member.
func (w *world) mayBeRefused(id shard.HostID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expelled[id] = true
}

// isRefusable reports whether a host may be rejected as a non-member.
func (w *world) isRefusable(id shard.HostID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expelled[id] || w.gone[id]
}

// spared reports whether each shard has a majority of voters with directories on other hosts. A learner on the host may
// be about to vote.
func (w *world) spared(id shard.HostID) bool {
	staying := w.stayingHosts()
	for n := range w.shards() + 1 {
		voters, others := 0, 0
		for _, m := range w.cluster.Replicas(uint64(n)) {
			if !m.Voter && m.Host != id {
				continue
			}
			voters++
			if m.Host != id && slices.Contains(staying, m.Host) {
				others++
			}
		}
		if 2*others <= voters {
			return false
		}
	}
	return true
}

// leaves records that a host has left the cluster: it is never started again.
func (w *world) leaves(id shard.HostID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[id] = true
}

func (w *world) hasLeft(id shard.HostID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone[id]
}

// waitForStep waits a while until the governor has an open step.
func (w *world) waitForStep(governor shard.HostID) bool {
	for range 100 {
		h := w.cluster.Host(governor)
		if h == nil {
			return false
		}
		if steps, err := h.Governor().Steps(); err == nil && len(steps) > 0 {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// setPolicy sets the plan's policy for the governor.
func (w *world) setPolicy() error {
	for end := time.Now().Add(time.Minute); w.cluster.Records() == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("simulation: the hosts have no records")
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := w.cluster.Policy(func(p *host.Policy) { *p = w.plan.Policy })
		if err == nil || w.plan.Policy.Replicas == 0 || time.Now().After(end) {
			return err // until the cluster has reached the level of Replicas
		}
	}
}
