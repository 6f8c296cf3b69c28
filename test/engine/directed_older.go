package engine

import (
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
)

// rounds is the number of repetitions of each fault.
const rounds = 3

// setBack starts hosts with older disks after another host has learned of newer entries: they serve nothing, and learn
// the reason. With their own disks they serve again.
func (w *world) setBack() {
	for i := 0; i < rounds && !w.oracle.failed(); i++ {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		h := w.others(leader)[0]
		earlier, had := h.copied()
		w.proposeMany(20)
		if !w.await(func() bool { return w.heard(h) > had }) {
			w.oracle.fail("nobody has heard that host %d has more than %d\n%s", h.id, had, w.describe())
			return
		}
		h.stop()
		w.startOlder(h, earlier)
	}
}

// setBackBeforeVote starts voters with disks from before their vote, known only to the elected leader. Later messages
// of the voters, if any, were lost.
func (w *world) setBackBeforeVote() {
	for i := 0; i < rounds && !w.oracle.failed(); i++ {
		earlier := make(map[*host]*raftlogtest.Disk)
		if leader, _ := w.awaitLeader(); leader == nil {
			return
		}
		for _, h := range w.hosts {
			earlier[h], _ = h.copied()
		}
		_, elected, voter := w.elect()
		if elected == nil {
			return
		}
		w.network.Break(elected.Address)
		voter.Kill()
		w.startOlder(voter, earlier[voter])
		w.network.Heal()
	}
}

// startOlder starts a stopped host with an older disk. Before serving, the host must learn that its directory is an
// older copy. Afterwards it gets its own disk back.
func (w *world) startOlder(h *host, earlier *raftlogtest.Disk) {
	own := h.Disk().Kill()
	h.SetBack(earlier)
	h.older.Store(true)
	w.trace("set back", "of host %d", h.id)
	if err := h.start(); err != nil {
		w.oracle.fail("%w", err)
		return
	}
	r := h.current()
	w.await(func() bool {
		if r.read(w.oracle) == nil {
			w.oracle.fail("host %d serves with a directory that is set back", h.id)
		}
		return r.refused.Load() || w.oracle.failed()
	})
	if !r.refused.Load() {
		w.oracle.fail("host %d does not hear that its directory is set back\n%s", h.id, w.describe())
	}
	h.Kill()
	h.SetBack(own)
	h.older.Store(false)
	w.restartAll()
}

// setBackUnheard starts hosts with disks from the last time that others heard from them. Newer entries were promised to
// no host, as in a power failure before a sync. So the hosts are accepted, and serve.
func (w *world) setBackUnheard() {
	for i := 0; i < rounds && !w.oracle.failed(); i++ {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		h := w.others(leader)[0]
		if err := w.catchUp(h); err != nil {
			w.oracle.fail("host %d: %w", h.id, err)
			return
		}
		earlier, had := h.copied()
		w.isolate(h, true, true)
		w.proposeMany(20)
		if !w.await(func() bool { return h.last() > had }) {
			w.oracle.fail("host %d gets nothing\n%s", h.id, w.describe())
			return
		}
		for _, o := range w.others(h) {
			w.network.Break(o.Address)
		}
		h.Kill()
		if heard := w.heard(h); heard > had {
			w.oracle.fail("host %d had %d and spoke to nobody, and others know of %d", h.id, had, heard)
		}
		h.SetBack(earlier)
		w.trace("set back, unheard", "of host %d to %d", h.id, had)
		w.network.Heal()
		w.restartAll()
		if err := w.catchUp(h); err != nil {
			w.oracle.fail("host %d was set back to what others know, and does not serve: %w\n%s", h.id, err,
				w.describe())
		}
	}
}

// copied returns a copy of the disk, and an upper bound for its last entry.
func (h *host) copied() (*raftlogtest.Disk, uint64) {
	disk := h.Disk().Kill()
	return disk, h.last()
}

// last is the last entry on the disk.
func (h *host) last() (index uint64) {
	for _, p := range h.current().Host.Positions() {
		index = max(index, p.Last)
	}
	return index
}

// heard is the last entry known by others to be on a host's disk.
func (w *world) heard(h *host) (index uint64) {
	for _, o := range w.others(h) {
		for _, c := range o.current().Host.Confirmed() {
			if c.Host == h.id {
				index = max(index, c.Last)
			}
		}
	}
	return index
}

// await waits until a condition holds, and reports whether it does.
func (w *world) await(condition func() bool) bool {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return true
		}
	}
	return false
}
