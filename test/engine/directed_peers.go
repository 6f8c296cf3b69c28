package engine

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// writeAtOldLeaders partitions leaders, and lets them propose entries that no majority receives.
func (w *world) writeAtOldLeaders() {
	for i := 0; i < 4 && !w.oracle.failed(); i++ {
		old, r := w.awaitLeader()
		if old == nil {
			return
		}
		w.isolate(old, true, i%2 == 0)
		var writers sync.WaitGroup
		for range 5 {
			writers.Go(func() { w.proposeAt(r) })
		}
		w.writeFor(10*time.Second, w.others(old)...)
		w.network.Heal()
		writers.Wait()
	}
}

// readWhileWriting runs many concurrent reads on all hosts, while values are written sequentially.
func (w *world) readWhileWriting() {
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	for _, h := range w.hosts {
		for n := range 5 {
			readers.Go(func() {
				for ctx.Err() == nil {
					_ = h.current().read(w.oracle)
					time.Sleep(time.Duration(1+n) * time.Millisecond)
				}
			})
		}
	}
	w.proposeMany(300)
	cancel()
	readers.Wait()
}

// admitStrangers starts hosts with a different incarnation, or cluster, in the place of a host: they receive nothing,
// and no host receives anything from them.
func (w *world) admitStrangers() {
	for _, change := range []func(c *raftlog.Config){
		func(c *raftlog.Config) { c.Incarnation[5] = 1 },
		func(c *raftlog.Config) { c.Deployment++ },
	} {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		h := w.others(leader)[0]
		h.stop()
		c := h.Config
		change(&c)
		c.InitialMembers = maps.Clone(c.InitialMembers)
		c.InitialMembers[h.id] = c.Incarnation
		w.trace("stranger", "%v of %d for host %d", c.Incarnation, c.Deployment, h.id)
		w.meet(raftlogtest.NewMachine(w.network, h.Address, c), h)
		w.restartAll()
	}
}

// meet lets a stranger try to take part in the place of a host.
func (w *world) meet(stranger *raftlogtest.Machine, h *host) {
	defer stranger.Stop()
	p, err := stranger.Start(w.book(), w.talk)
	if err != nil {
		w.oracle.fail("a stranger: %w", err)
		return
	}
	own := &run{Process: p, machine: &tally{oracle: newOracle(), host: h.id, ended: p.Ended}}
	if own.log, err = p.Host.Start(shardID, own.machine); err != nil {
		w.oracle.fail("a stranger: %w", err)
		return
	}
	w.writeFor(5*time.Second, w.others(h)...)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, o := range w.others(h) {
		if _, err := p.Peers.Call(ctx, o.id, []byte("let me in")); err == nil {
			w.oracle.fail("host %d answers a stranger in the place of host %d", o.id, h.id)
		}
		if _, err := o.current().Peers.Call(ctx, h.id, []byte("is it you")); err == nil {
			w.oracle.fail("host %d takes a stranger for host %d", o.id, h.id)
		}
	}
	if values, _ := own.machine.state(); len(values) > 0 || own.read(own.machine.oracle) == nil {
		w.oracle.fail("a stranger in the place of host %d has %d values, or serves", h.id, len(values))
	}
}

// startDiscarded restarts discarded replicas: none may start.
func (w *world) startDiscarded() {
	w.discarded = func(on *run, next uint64) {
		if next-1 <= transport.FirstJoined || on.Ended() {
			return
		}
		l, err := on.Host.Join(shardID, next-1, &tally{oracle: w.oracle, host: on.machine.host, ended: on.Ended})
		if !errors.Is(err, raftlog.ErrOtherReplica) {
			w.oracle.fail("host %d starts replica %d again, which it has discarded: %v", on.machine.host, next-1, err)
		}
		if err == nil {
			l.Close()
		}
	}
	for range 3 {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		w.replace(w.hosts[0])
	}
}

// doubleFrames duplicates frames, first between hosts with a secret, which must detect each duplicate, and then
// without.
func (w *world) doubleFrames() {
	twice := func(_, _ string, write int) bool { return write > 10 && write%20 == 0 }
	for _, secret := range []string{"a secret of all the hosts", ""} {
		w.network.Double(nil)
		for _, h := range w.hosts {
			h.stop()
		}
		w.secret = []byte(secret)
		w.restartAll()
		w.awaitLeader()
		w.network.Double(twice)
		w.proposeMany(100)
		if secret != "" && w.refused.Load() == 0 {
			w.oracle.fail("frames come twice, and none is refused")
		}
	}
	w.network.Double(nil)
}

// sendLate delays leaders' messages until after their power failure, when they lead again or follow.
func (w *world) sendLate() {
	for i := 0; i < 6 && !w.oracle.failed(); i++ {
		leader, r := w.awaitLeader()
		if leader == nil {
			return
		}
		w.isolate(leader, true, true)
		for range 20 {
			go w.proposeAt(r)
		}
		time.Sleep(100 * time.Millisecond)
		if i%2 == 0 {
			leader.PowerFailure(lost)
		} else {
			leader.Kill()
		}
		w.writeFor(time.Duration(i)*time.Second, w.others(leader)...)
		w.restartAll()
		w.network.Heal()
		w.proposeMany(10)
	}
}
