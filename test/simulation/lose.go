package simulation

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// caughtUpWithin is the maximum time until the last two voters of a shard have equal logs.
	caughtUpWithin = 5 * time.Second
	// recoveredWithin is how long an operator asks for a shard to be made anew, and waits for the new group.
	recoveredWithin = 10 * time.Minute
	// hostsOfLosses is the number of hosts in worlds that permanently lose two.
	hostsOfLosses = 7
)

// drawLosses draws one or two times at which shards lose their majority. As in production, a leader notices the loss of
// its followers: only a replica without a known leader is a survivor.
func (p *Plan) drawLosses(random *rand.Rand) {
	p.Hosts, p.Log.CheckQuorum = hostsOfLosses, true
	for range workload.Pick(random, 1, 1, 2) {
		p.Faults = append(p.Faults, Fault{
			Kind: Lose, At: 15*time.Second + workload.UpTo(random, p.Length-time.Minute),
			Shard: uint64(random.IntN(p.Shards)), Amount: random.Float64(),
		})
	}
}

// Loses reports whether shards permanently lose their majority in the plan.
func (p Plan) Loses() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind == Lose })
}

// loss is two hosts to be lost, with the lost shards: all data shards with votes on both hosts.
type loss struct {
	first, second shard.HostID
	shards        []lostShard
}

// lostShard is a shard to lose its majority, its group number, and the host of the surviving voter.
type lostShard struct {
	id, group uint64
	survivor  shard.HostID
}

// lose makes data shards permanently lose their majority, without losing acknowledged changes: the first host dies, the
// two remaining voters catch up to equal logs, and the second host dies. Then an operator rebuilds each shard.
func (w *world) lose(f Fault) (end func()) {
	release, rested := w.holdMoves()
	defer release()
	l := w.losable(f)
	if l == nil || !rested || !w.markDown(l.first) {
		return nil
	}
	w.cluster.Crash(l.first, f.Amount < 0.5)
	if !w.loseSecond(l) {
		return func() { w.start(l.first) }
	}
	for _, s := range l.shards {
		w.recover(s)
		w.times.forgetShard(s.id)
		w.setLost(s.id, false)
	}
	for _, id := range w.livingHosts() {
		// A host that was stalled at the recovery request, and still recorded as a voter, is expelled too.
		if !slices.Contains(w.stayingHosts(), id) && !w.isRefusable(id) {
			w.leaves(id)
			w.mayBeRefused(id)
		}
	}
	for _, id := range []shard.HostID{l.first, l.second} {
		if r := w.cluster.Records(); r != nil && r.Named(servertest.Name(id)) != nil {
			// The records had the host as a learner, with its promotion in the lost log only: the recovery keeps the
			// host.
			w.operated(&meta.HostExpel{Host: servertest.Name(id)}, nil)
		}
	}
	return func() {}
}

// setLost records that a shard has permanently lost its majority, or was rebuilt.
func (w *world) setLost(id uint64, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost[id] = is; !is {
		delete(w.lost, id)
	}
}

// isLost reports whether a shard has no majority for good, and no new group yet.
func (w *world) isLost(id uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost[id]
}

// isLosing reports whether some shard is lost. Meanwhile no other host and no written data may be lost.
func (w *world) isLosing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.lost) > 0
}

// losable returns a loss after which all other shards keep their majority and at least three hosts remain; nil if none
// is possible.
func (w *world) losable(f Fault) *loss {
	staying := w.stayingHosts()
	if w.cluster.Records() == nil || len(staying) < 5 || len(staying) != len(w.livingHosts()) || w.isLosing() {
		return nil
	}
	for n := range w.shards() {
		id := 1 + (f.Shard+uint64(n))%uint64(w.shards())
		voters := w.threeVoters(id)
		if voters == nil {
			continue
		}
		at := int(f.Amount * 3)
		l := &loss{first: voters[at], second: voters[(at+1)%3]}
		if w.afford(l, staying) && slices.ContainsFunc(l.shards, func(s lostShard) bool { return s.id == id }) {
			return l
		}
	}
	return nil
}

// threeVoters returns the members' hosts of a shard with exactly three members, all voters; nil for other shards.
func (w *world) threeVoters(id uint64) (on []shard.HostID) {
	for _, m := range w.cluster.Replicas(id) {
		if !m.Voter {
			return nil
		}
		on = append(on, m.Host)
	}
	if len(on) != 3 {
		return nil
	}
	return on
}

// afford records the shards lost in a loss, and reports whether all others keep their majority.
func (w *world) afford(l *loss, staying []shard.HostID) bool {
	r := w.cluster.Records()
	for n := range uint64(w.shards() + 1) {
		voters, left := 0, []shard.HostID(nil)
		for _, m := range w.cluster.Replicas(n) {
			goes := m.Host == l.first || m.Host == l.second
			if !m.Voter && !goes {
				continue
			}
			voters++ // also a leaving learner: it may be about to vote
			if !goes && slices.Contains(staying, m.Host) {
				left = append(left, m.Host)
			}
		}
		switch {
		case 2*len(left) > voters:
		case n == 0 || len(left) != 1 || w.threeVoters(n) == nil || r == nil:
			return false
		default:
			l.shards = append(l.shards, lostShard{n, r.Shard(hosts.ShardID(n)).Group, left[0]})
		}
	}
	return true
}

// loseSecond permanently ends the second host, once that loses nothing but the majority. It returns false if the
// members have changed, or if the condition is not met in time.
func (w *world) loseSecond(l *loss) bool {
	for end := time.Now().Add(caughtUpWithin); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		again := &loss{first: l.first, second: l.second}
		if !w.afford(again, w.stayingHosts()) || !slices.Equal(again.shards, l.shards) {
			return false
		}
		if slices.ContainsFunc(l.shards, func(s lostShard) bool { return !w.sameLog(s.id, l.second, s.survivor) }) {
			continue
		}
		if !w.markDown(l.second) {
			continue // another fault has stopped the host, and will restart it
		}
		for _, s := range l.shards {
			w.setLost(s.id, true)
		}
		w.cluster.Crash(l.second, false)
		for _, id := range []shard.HostID{l.first, l.second} {
			w.leaves(id)
			w.mayBeRefused(id)
		}
		return true
	}
	return false
}

// sameLog reports whether the replicas of two hosts have the same last entry, and so equal logs.
func (w *world) sameLog(id uint64, a, b shard.HostID) bool {
	term, index := w.cluster.Last(a, id)
	otherTerm, otherIndex := w.cluster.Last(b, id)
	return index != 0 && term == otherTerm && index == otherIndex
}

// recover has an operator order that a shard is made anew, again until the order is taken, and waits for the new group.
func (w *world) recover(s lostShard) {
	ctx, cancel := context.WithTimeout(context.Background(), recoveredWithin)
	defer cancel()
	x := w.recovery(s.id)
	err := w.orderRecovery(ctx, s)
	for err == nil && !w.hasBegun(s) {
		if !workload.Sleep(ctx, lookEvery) {
			err = ctx.Err()
		}
	}
	x.To = w.record.Now()
	w.record.Recovered(x)
	if err != nil {
		w.record.Note("shard %d cannot be made anew: %v\n%s", s.id, err, w.cluster.Describe(s.id))
	}
}

// orderRecovery repeats the recovery request until the records contain the new group, even if the governor dies before
// its answer.
func (w *world) orderRecovery(ctx context.Context, s lostShard) error {
	c, err := client.Open(ctx, w.cluster.Addresses(), client.WithDialer(w.cluster.Dial))
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		call, cancel := context.WithTimeout(ctx, 20*time.Second)
		_, err = admin.New(c).RecoverShard(call, s.id, false, admin.ChangeInfo{Author: "operator",
			Reason: "two hosts are lost"})
		cancel()
		if r := w.cluster.Records(); err == nil || r != nil && r.Shard(hosts.ShardID(s.id)).Group > s.group {
			return nil
		}
		if !workload.Sleep(ctx, time.Second) {
			return err
		}
	}
}

// hasBegun reports whether the leader of a shard's new group has reported its members.
func (w *world) hasBegun(lost lostShard) bool {
	r := w.cluster.Records()
	if r == nil {
		return false
	}
	s := r.Shard(hosts.ShardID(lost.id))
	return s.Group > lost.group && s.InitialReplica() == nil
}

// recovery is the history entry of a shard that is rebuilt.
func (w *world) recovery(id uint64) history.Recovery {
	x := history.Recovery{From: w.record.Now(), Node: path, NodeID: w.node}
	r := w.cluster.Records()
	for ; r == nil; r = w.cluster.Records() { // the meta shard elects a leader
		time.Sleep(lookEvery)
	}
	x.Slots = r.Endangered(hosts.ShardID(id))
	return x
}
