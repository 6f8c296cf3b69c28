package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// fastSync and slowSync are the sync times on a normal and on a slow disk.
	fastSync, slowSync = time.Millisecond, 100 * time.Millisecond
	// syncEvery is the interval of measured syncs.
	syncEvery = 250 * time.Millisecond
	// leavesSlowWithin is how long a slow host may lead.
	leavesSlowWithin = 20 * time.Second
)

// disks contains each host's measured sync times, and the hosts with slow disks.
type disks struct {
	mu    sync.Mutex // guards the fields below
	syncs map[shard.HostID]*metrics.Histogram
	slow  map[shard.HostID]bool
}

// measured returns a host's sync times.
func (d *disks) measured(id shard.HostID) *metrics.Histogram {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.syncs[id] == nil {
		d.syncs[id] = server.NewSyncTimes()
	}
	return d.syncs[id]
}

// measure adds one sync per host and interval to the measured times, until the context ends.
func (d *disks) measure(ctx context.Context) {
	for workload.Sleep(ctx, syncEvery) {
		d.mu.Lock()
		for id, syncs := range d.syncs {
			took := fastSync
			if d.slow[id] {
				took = slowSync
			}
			syncs.Observe(int64(took))
		}
		d.mu.Unlock()
	}
}

// DrawSlow draws a world with three hosts. Every four minutes, one disk or all disks are slow for a minute.
func DrawSlow(seed uint64) Plan {
	p := DrawMembers(seed)
	random := rand.New(rand.NewPCG(seed, 8))
	p.Measured, p.Hosts, p.Faults = true, 3, nil
	p.Log.Path, p.Log.Disk = memlog.Path{Delay: memlog.Exactly(time.Millisecond)}, memlog.Exactly(fastSync)
	p.Policy.BalanceEvery = 10 * time.Second
	for at := 20 * time.Second; at < p.Length; at += 4 * time.Minute {
		f := Fault{Kind: SlowHost, At: at, For: time.Minute, Host: shard.HostID(1 + random.IntN(3)),
			Amount: random.Float64()}
		p.Faults = append(p.Faults, f)
		p.Length = max(p.Length, f.At+f.For)
	}
	return p
}

// slowHost makes the governing host's disk slow, or all disks, and watches the leaders.
func (w *world) slowHost(f Fault) (end func()) {
	slow := []shard.HostID{f.Host}
	if all := f.Amount < 0.3; all {
		slow = w.hostIDs()
	} else if leader := w.cluster.Leader(0); leader != 0 {
		slow[0] = leader
	}
	w.setDisks(slow, true)
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { w.watchSlow(ctx, slow) })
	return func() {
		cancel()
		watching.Wait()
		w.setDisks(slow, false)
	}
}

func (w *world) setDisks(list []shard.HostID, slow bool) {
	took := fastSync
	if slow {
		took = slowSync
	}
	w.disks.mu.Lock()
	defer w.disks.mu.Unlock()
	for _, id := range list {
		w.disks.slow[id] = slow
		w.cluster.Net().SetDisk(id, memlog.Exactly(took))
	}
}

// watchSlow records a violation if a slow host leads for too long, or leads again after the leaders have left. If all
// hosts are slow, no host may count as slow.
func (w *world) watchSlow(ctx context.Context, slow []shard.HostID) {
	began, left := time.Now(), false
	for workload.Sleep(ctx, lookEvery) {
		if len(slow) > 1 {
			if why := w.countsAsSlow(slow); why != "" {
				w.record.Note("all hosts are slow, and %s", why)
				return
			}
			continue
		}
		switch led := w.led(slow[0]); {
		case len(led) == 0:
			left = true
		case left:
			w.record.Note("host %d is slow, and leads shards %v again after %v", slow[0], led, time.Since(began))
			return
		case time.Since(began) > leavesSlowWithin:
			w.record.Note("host %d is slow, and leads shards %v after %v", slow[0], led, time.Since(began))
			return
		}
	}
}

// countsAsSlow describes the first host that counts as slow. The result is empty if no host does.
func (w *world) countsAsSlow(list []shard.HostID) string {
	r := w.cluster.Records()
	if r == nil {
		return ""
	}
	at := slices.IndexFunc(r.Hosts(), func(h *hosts.Host) bool { return slices.Contains(list, h.ID) && h.IsSlow() })
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("host %d counts as slow: %s", r.Hosts()[at].ID, r.Hosts()[at].Slow.Text)
}

// led returns the shards that a host leads.
func (w *world) led(id shard.HostID) (list []int) {
	for n := range w.shards() + 1 {
		if w.cluster.Leader(uint64(n)) == id {
			list = append(list, n)
		}
	}
	return list
}
