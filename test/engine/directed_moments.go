package engine

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

// snapshotFile is the name suffix of the engine's snapshots.
const snapshotFile = ".gbsnap"

// failAfterSnapshot fails the power of hosts when a snapshot has replaced its predecessor, and nothing was synced
// since.
func (w *world) failAfterSnapshot() {
	for i := 0; i < 8 && !w.oracle.failed(); i++ {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		h := w.others(leader)[i%2]
		var replaced atomic.Bool
		h.Disk().Trap(func(s raftlogtest.Step) error {
			if s.Kind == outage.Name && strings.HasSuffix(s.Name, snapshotFile) && !replaced.Swap(true) {
				go func() {
					time.Sleep(time.Microsecond) // the removal completes within this time
					w.trace("power after a snapshot", "of host %d in place of %s", h.id, s.Name)
					h.PowerFailure(lost)
				}()
			}
			return nil
		})
		w.writeUntil(replaced.Load)
		w.await(func() bool { return h.current() == nil })
		w.restartAll()
		if err := w.catchUp(h); err != nil {
			w.oracle.fail("host %d, whose power failed after a snapshot: %w\n%s", h.id, err, w.describe())
		}
	}
}

// afterInstalls makes hosts receive snapshots from their leader in turn, and runs do immediately after each restore.
// Afterwards the host must answer a read.
func (w *world) afterInstalls(do func(leader, h *host)) {
	for i := 0; i < 6 && !w.oracle.failed(); i++ {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		h := w.others(leader)[i%2]
		if w.install(h); w.oracle.failed() {
			return
		}
		do(leader, h)
		if err := w.catchUp(h); err != nil {
			w.oracle.fail("host %d after a snapshot of host %d: %w\n%s", h.id, leader.id, err, w.describe())
		}
	}
}

// failAfterInstall fails a host's power when the leader knows of the host's new snapshot, and before later entries
// arrive.
func (w *world) failAfterInstall() {
	w.afterInstalls(func(_, h *host) {
		time.Sleep(messageDelay * 3 / 2)
		w.trace("power after a snapshot of another host", "of host %d, which is known to have %d", h.id, w.heard(h))
		h.PowerFailure(lost)
		w.restartAll()
	})
}

// loseArrivals loses the answers of a host with a new snapshot, and proposes nothing more, because a later snapshot
// would help.
func (w *world) loseArrivals() {
	w.afterInstalls(func(leader, h *host) {
		w.trace("reset after a snapshot of another host", "of host %d, whose leader is host %d", h.id, leader.id)
		w.network.Break(leader.Address)
	})
}

// readWhileLeadersChange reads on a host with missing entries, while a new leader takes over.
func (w *world) readWhileLeadersChange() {
	for i := 0; i < 12 && !w.oracle.failed(); i++ {
		leader, r := w.awaitLeader()
		if leader == nil {
			return
		}
		next, behind := w.others(leader)[i%2], w.others(leader)[1-i%2]
		w.network.Cut(leader.Address, behind.Address, true)
		w.proposeMany(3)
		var reader sync.WaitGroup
		reader.Go(func() { _ = behind.current().read(w.oracle) })
		time.Sleep(20 * time.Millisecond)
		w.trace("transfer", "from host %d to host %d, while host %d is read from", leader.id, next.id, behind.id)
		_ = r.log.Transfer(next.id)
		reader.Wait()
		w.network.Heal()
	}
}

// swapAddresses swaps the addresses of two hosts, while the third host knows the old addresses.
func (w *world) swapAddresses() {
	for i := 0; i < rounds && !w.oracle.failed(); i++ {
		leader, r := w.awaitLeader()
		if leader == nil {
			return
		}
		two := w.others(leader)
		for _, h := range two {
			h.stop()
		}
		two[0].Address, two[1].Address = two[1].Address, two[0].Address
		w.trace("swap", "of the addresses of hosts %d and %d", two[0].id, two[1].id)
		w.restartAll()
		for range 20 {
			for _, h := range two {
				w.call(r, h)
			}
			time.Sleep(100 * time.Millisecond)
		}
		leader.stop()
		w.restartAll()
	}
}

// call calls a host. No other host may answer in its place.
func (w *world) call(from *run, h *host) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if answer, err := from.Peers.Call(ctx, h.id, []byte("who is it")); err == nil && string(answer) != name(h.id) {
		w.oracle.fail("a call of host %d is answered by %s", h.id, answer)
	}
}
