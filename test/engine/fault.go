package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// kinds are the faults in worlds with several hosts, listed as often as their weight.
var kinds = []string{"power", "power", "step", "step", "kill", "stop", "cut", "cut", "one way", "reset", "transfer",
	"blackout", "replace"}

// lonelyKinds are the faults of a single host.
var lonelyKinds = []string{"power", "power", "step", "kill", "stop"}

// fault runs one fault to its end.
func (w *world) fault() {
	of := kinds
	if len(w.hosts) == 1 {
		of = lonelyKinds
	}
	kind, h := pick(w.random, of...), pick(w.random, w.hosts...)
	long := time.Duration(w.random.Int64N(int64(8 * time.Second)))
	if leader, _ := w.leader(); leader != nil && w.random.IntN(3) == 0 {
		h = leader
	}
	w.trace(kind, "of host %d for %v", h.id, long)
	switch kind {
	case "power":
		h.powerFails(w.random)
	case "step":
		w.failAtStep(h)
	case "kill":
		h.Kill()
	case "stop":
		h.stop()
	case "blackout":
		for _, h := range w.hosts {
			h.powerFails(w.random)
		}
	case "cut", "one way":
		w.isolate(h, true, kind == "one way")
	case "reset":
		w.network.Break(h.Address)
	case "transfer":
		if _, r := w.leader(); r != nil {
			_ = r.log.Transfer(h.id)
		}
		return
	case "replace":
		w.replace(h)
		return
	}
	time.Sleep(long)
	w.isolate(h, false, false)
	w.restartAll()
}

// restartAll starts all stopped hosts.
func (w *world) restartAll() {
	for _, h := range w.hosts {
		if h.current() == nil {
			w.restart(h)
		}
	}
}

// restart starts a stopped host. Its power may fail again during the start.
func (w *world) restart(h *host) {
	if w.random.IntN(4) == 0 {
		w.trace("power at a start", "of host %d", h.id)
		w.failAfter(h, int64(w.random.IntN(150)), nil)
	}
	err := h.startAnew()
	h.Disk().Trap(nil)
	if err == nil && h.current() == nil { // it failed right after the start
		err = h.startAnew()
	}
	if err != nil {
		w.oracle.fail("%w", err)
	}
}

// isolate partitions a host from all others, in both directions or only for its own messages, or ends the partition.
func (w *world) isolate(h *host, cut, oneWay bool) {
	for _, o := range w.hosts {
		if o != h {
			w.network.Cut(h.Address, o.Address, cut)
			w.network.Cut(o.Address, h.Address, cut && !oneWay)
		}
	}
}

// failAtStep fails a host's power between two of its next disk steps.
func (w *world) failAtStep(h *host) { w.failAfter(h, int64(w.random.IntN(200)), nil) }

// failAfter fails a host's power after the given number of relevant steps; all steps are relevant if matters is nil.
func (w *world) failAfter(h *host, steps int64, matters func(raftlogtest.Step) bool) {
	w.failWith(h, steps, matters, drawAt(h, steps))
}

// drawAt is the random remainder when a host fails in a step. The draw has a separate source: steps happen on the
// host's goroutines, concurrently with the world.
func drawAt(h *host, steps int64) outage.Draw {
	return outage.RandomDraw(rand.New(rand.NewPCG(uint64(steps), uint64(h.id))))
}

// failWith is failAfter, with a given draw.
func (w *world) failWith(h *host, steps int64, matters func(raftlogtest.Step) bool, draw outage.Draw) {
	var count atomic.Int64
	h.Disk().Trap(func(s raftlogtest.Step) error {
		if (matters == nil || matters(s)) && count.Add(1) == steps+1 {
			w.trace("power between steps", "of host %d before step %d, %+v", h.id, s.Number, s.Step)
			h.PowerFailure(draw)
		}
		return nil
	})
}

// replace removes and discards a host's replica, and replaces it by a joining replica.
func (w *world) replace(h *host) {
	w.joined++
	next, began := uint64(transport.FirstJoined)+w.joined, false
	var last error
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		done, err := w.replaceStep(h, next, &began)
		if done && err == nil {
			return
		}
		if err != nil {
			last = err
		}
	}
	w.oracle.fail("the replica of host %d is not replaced: %w\n%s", h.id, last, w.describe())
}

// replaceStep performs the next step.
func (w *world) replaceStep(h *host, next uint64, began *bool) (done bool, err error) {
	w.restartAll()
	leader, lead := w.leader()
	own := h.current()
	if lead == nil || own == nil {
		return false, errors.New("no host leads")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	members := lead.log.(shard.Members)
	m, err := members.Membership(ctx)
	if err != nil {
		return false, err
	}
	defer h.Disk().Hurry()()
	switch on := m.On(h.id); {
	case on != nil && on.Replica != next && leader == h:
		return false, w.handOver(h, lead)
	case on != nil && on.Replica != next:
		return false, w.made("the removal", members.Remove(ctx, on.Replica, m.Change),
			func(m *shard.Membership) bool { return m.Member(on.Replica) == nil })
	case on == nil:
		if err := own.discard(ctx); err != nil {
			return false, err
		}
		if w.discarded != nil {
			w.discarded(own, next)
		}
		return false, w.made("the addition", members.AddLearner(ctx, next, h.id, incarnation(h.id), m.Change),
			func(m *shard.Membership) bool { return m.Member(next) != nil })
	case !*began:
		return false, h.join(own, next, began)
	case !on.Voter:
		if err := own.read(w.oracle); err != nil {
			return false, err
		}
		return false, w.made("the promotion", members.Promote(ctx, next, m.Change),
			func(m *shard.Membership) bool { return m.Member(next) != nil && m.Member(next).Voter })
	}
	return true, nil
}

// made is called with the outcome of a membership change.
func (w *world) made(what string, err error, held func(m *shard.Membership) bool) error {
	if err == nil && w.changed != nil {
		w.changed(what, held)
	}
	return err
}

// handOver transfers leadership to any other host.
func (w *world) handOver(h *host, lead *run) error {
	for _, o := range w.hosts {
		if o != h && o.current() != nil {
			return lead.log.Transfer(o.id)
		}
	}
	return nil
}

// discard discards the removed replica.
func (r *run) discard(ctx context.Context) error {
	replica, _ := r.Host.Replica(shardID)
	if replica == 0 {
		return nil
	}
	if err := r.Host.Discard(ctx, shardID, replica); err != nil {
		return fmt.Errorf("discard: %w", err)
	}
	if r.Ended() { // so that its result does not count
		return raftlogtest.ErrEnded
	}
	return nil
}

// join starts a replica added by the leader. A host restarted meanwhile may have done so by itself.
func (h *host) join(own *run, replica uint64, began *bool) (err error) {
	if own.replica == replica {
		*began = true
		return nil
	}
	if before, _ := own.Host.Replica(shardID); before != replica {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := own.discard(ctx); err != nil {
			return err
		}
	}
	r := &run{Process: own.Process, machine: h.tally(own.Process), replica: replica}
	if r.log, err = own.Host.Join(shardID, replica, r.machine); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run == own && !own.Ended() {
		h.run, *began = r, true
	}
	return nil
}
