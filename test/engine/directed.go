package engine

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

// Directed is a world with a single fault at the worst possible time.
type Directed struct {
	Name string
	// Hosts is the number of hosts; SnapshotEntries and Bytes are as in Plan.
	Hosts, SnapshotEntries, Bytes int
	do                            func(w *world)
	// Long is set for faults that take more than a second.
	Long bool
}

// String is the name.
func (d Directed) String() string { return d.Name }

// AllDirected are all directed faults.
var AllDirected = []Directed{
	{"power fails at every step of the log", 3, 200, 500, func(w *world) { w.failAtEach(60, 7, inLog) }, true},
	{"power of a host alone fails at every step", 1, 20, 3000, func(w *world) { w.failAtEach(120, 5, nil) }, true},
	{"power fails while snapshots are saved", 3, 20, 500, func(w *world) {
		w.failAtEach(20, 1, inSnapshots) // before a snapshot's first step, long after the previous snapshot is complete
		w.failAtEach(20, 12, inSnapshots)
	}, true},
	{"power fails while segments are made and removed", 3, 20, 8000,
		func(w *world) { w.failAtEach(120, 12, atSegments) }, true},
	{"all power fails right after an acknowledgement", 3, 200, 50, (*world).failAfterAcknowledgement, false},
	{"power fails right after a vote", 3, 200, 50, (*world).failAfterVote, false},
	{"power fails while a snapshot is streamed", 3, 20, 500, (*world).failWhileStreaming, true},
	{"power fails right after a snapshot", 3, 20, 500, (*world).failAfterSnapshot, false},
	{"power fails right after a snapshot of another host", 3, 20, 500, (*world).failAfterInstall, false},
	{"it is lost that a snapshot of another host has arrived", 3, 20, 500, (*world).loseArrivals, false},
	{"power fails right after changes of the members", 3, 20, 50, (*world).failAfterChanges, false},
	{"power fails at every step of a replacement", 3, 20, 50, (*world).failWhileReplacing, true},
	{"power of the voter that is left fails", 2, 200, 50, (*world).failAfterRemoval, false},
	{"power fails right after an import", 1, 200, 50, (*world).failAfterImport, false},
	{"power fails at every step of an import", 1, 200, 50, (*world).failWhileImporting, true},
	{"a leader is cut off, and read from", 3, 200, 50, (*world).readAtOldLeaders, true},
	{"a leader is cut off, and written to", 3, 200, 50, (*world).writeAtOldLeaders, false},
	{"many read while others write", 3, 200, 50, (*world).readWhileWriting, false},
	{"leaders change while a host that lacks entries is read from", 3, 200, 50, (*world).readWhileLeadersChange, false},
	{"two hosts swap their addresses", 3, 200, 50, (*world).swapAddresses, false},
	{"a stranger is in the place of a host", 3, 200, 50, (*world).admitStrangers, false},
	{"a replica that was discarded is started again", 3, 20, 50, (*world).startDiscarded, false},
	{"frames come twice", 3, 200, 50, (*world).doubleFrames, false},
	{"frames come after a restart of their sender", 3, 200, 50, (*world).sendLate, false},
	{"a disk is full at every write", 3, 20, 500, (*world).fillDisks, true},
	{"a directory is set back", 3, 200, 50, (*world).setBack, false},
	{"a directory is set back to before a vote", 3, 200, 50, (*world).setBackBeforeVote, false},
	{"a directory is set back to what others know", 3, 200, 50, (*world).setBackUnheard, false},
}

// messageDelay is how long messages take in directed faults.
const messageDelay = 5 * time.Millisecond

// RunDirected runs a directed fault in the caller's bubble.
func RunDirected(d Directed, seed uint64) *Result {
	p := Plan{Seed: seed, Hosts: d.Hosts, Length: time.Minute, SnapshotEntries: d.SnapshotEntries, KeepEntries: 5,
		Bytes: d.Bytes, Writers: 1, Think: time.Millisecond}
	for range d.Hosts {
		p.Ticks = append(p.Ticks, 50*time.Millisecond)
	}
	w := newWorld(p)
	defer w.close()
	w.network.Delay(func(string, string) time.Duration { return messageDelay })
	if err := w.startAll(); err != nil {
		w.oracle.fail("%w", err)
		return w.result()
	}
	w.proposeMany(10)
	if d.do(w); !w.oracle.failed() {
		w.finish()
	}
	return w.result()
}

func inLog(s raftlogtest.Step) bool { return s.IsLog() }

func inSnapshots(s raftlogtest.Step) bool { return strings.Contains(s.Name, "snapshot-") }

// atSegments reports whether a step creates or removes a segment.
func atSegments(s raftlogtest.Step) bool {
	return s.IsLog() && s.Kind != outage.Write && (s.Kind != outage.Sync || !strings.HasSuffix(s.Name, ".wal"))
}

// lost is the draw that loses all unsynced data.
var lost = outage.Extremes[0]

// failAtEach fails the power of leaders and others before each relevant step in turn.
func (w *world) failAtEach(rounds, stride int, matters func(raftlogtest.Step) bool) {
	for i := 0; i < rounds && !w.oracle.failed(); i++ {
		h, _ := w.awaitLeader()
		if h == nil {
			return
		}
		if i%2 == 1 {
			h = w.hosts[i/2%len(w.hosts)]
		}
		w.failBefore(h, int64(i%stride+w.random.IntN(stride)), matters, i%3 < 2)
		w.writeUntil(func() bool { return h.current() == nil })
		w.restartAll()
	}
}

// failBefore is failAfter. If all is set, all unsynced data is lost.
func (w *world) failBefore(h *host, steps int64, matters func(raftlogtest.Step) bool, all bool) {
	draw := drawAt(h, steps)
	if all {
		draw = lost
	}
	w.failWith(h, steps, matters, draw)
}

// writeUntil proposes values until a condition holds, or for a while.
func (w *world) writeUntil(condition func() bool) {
	for until := time.Now().Add(20 * time.Second); !condition() && time.Now().Before(until); {
		w.propose()
	}
}

// failAfterAcknowledgement fails all hosts' power at an acknowledgement.
func (w *world) failAfterAcknowledgement() {
	for i := 0; i < 20 && !w.oracle.failed(); i++ {
		_, r := w.awaitLeader()
		if r == nil {
			return
		}
		value, done := w.value.Add(1), make(chan shard.Outcome, 1)
		batch := append(binary.BigEndian.AppendUint64(nil, value), make([]byte, w.plan.Bytes)...)
		err := r.log.Propose(batch, func(o shard.Outcome) {
			if o == shard.OutcomeApplied {
				w.oracle.acknowledge(value)
				for _, h := range w.hosts {
					h.PowerFailure(lost)
				}
			}
			done <- o
		})
		if err == nil {
			w.trace("all power after an acknowledgement", "%v", <-done)
		}
		w.restartAll()
	}
	w.awaitLeader()
}

// failAfterVote fails a host's power when its vote has elected another leader, and makes the third host, unaware of the
// term, ask for its vote.
func (w *world) failAfterVote() {
	for i := 0; i < 6 && !w.oracle.failed(); i++ {
		old, elected, voter := w.elect()
		if elected == nil {
			return
		}
		voter.PowerFailure(lost)
		w.trace("power after a vote", "of host %d for host %d", voter.id, elected.id)
		w.isolate(old, false, false)
		w.isolate(elected, true, false)
		w.restartAll()
		w.writeFor(10*time.Second, old, voter)
		w.network.Heal()
	}
}

// elect partitions the leader among three hosts. It returns the old leader, the newly elected leader and the voter, at
// the time of the vote; nil if no host is elected.
func (w *world) elect() (old, elected, voter *host) {
	old, r := w.awaitLeader()
	if old == nil {
		return nil, nil, nil
	}
	term := r.log.Leadership().Term
	w.isolate(old, true, false)
	until := time.Now().Add(patience)
	for ; elected == nil && time.Now().Before(until); time.Sleep(time.Millisecond) {
		for _, h := range w.others(old) {
			if l := h.current().log.Leadership(); l.Leader == h.id && l.Term > term {
				elected = h
			}
		}
	}
	if elected == nil {
		w.oracle.fail("no other host is elected")
		return nil, nil, nil
	}
	for _, h := range w.others(old) {
		if h != elected {
			voter = h
		}
	}
	return old, elected, voter
}

// writeFor proposes values at some hosts for a while.
func (w *world) writeFor(d time.Duration, at ...*host) {
	for until := time.Now().Add(d); time.Now().Before(until); {
		for _, h := range at {
			if r := h.current(); r != nil && r.log != nil && r.log.Leadership().Leader == h.id {
				w.proposeAt(r)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// failWhileStreaming fails the power at a snapshot's receiver, or at its sender, at each step in the transfer.
func (w *world) failWhileStreaming() {
	var streamed atomic.Int64
	for i := int64(0); i < 24 && !w.oracle.failed(); i++ {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		behind := w.others(leader)[0]
		w.leaveBehind(behind)
		failing, matters := behind, func(s raftlogtest.Step) bool {
			if strings.Contains(s.Name, ".receiving") {
				streamed.Add(1)
			}
			return inSnapshots(s)
		}
		if i%4 == 3 {
			failing, matters = leader, nil
		}
		w.failBefore(failing, i/2, matters, i%2 == 0)
		w.network.Heal()
		w.writeUntil(func() bool { return failing.current() == nil })
		w.restartAll()
		if err := w.catchUp(behind); err != nil {
			w.oracle.fail("host %d does not catch up: %w\n%s", behind.id, err, w.describe())
		}
	}
	if streamed.Load() == 0 {
		w.oracle.fail("no snapshot was streamed")
	}
}

// leaveBehind partitions a host until the host needs a snapshot of another host. Messages to the host are lost
// meanwhile.
func (w *world) leaveBehind(h *host) {
	w.isolate(h, true, false)
	w.proposeMany(60)
	w.network.Break(h.Address)
}

// install makes a host receive a snapshot from another host, and returns immediately after the restore.
func (w *world) install(h *host) {
	restored := h.current().machine.restores()
	w.leaveBehind(h)
	w.network.Heal()
	until := time.Now().Add(patience)
	for h.current().machine.restores() == restored && time.Now().Before(until) {
		time.Sleep(time.Millisecond)
	}
	if h.current().machine.restores() == restored {
		w.oracle.fail("host %d was left behind, and got no snapshot of another host", h.id)
	}
}

// others are all other hosts.
func (w *world) others(h *host) []*host {
	return slices.DeleteFunc(slices.Clone(w.hosts), func(o *host) bool { return o == h })
}

// failAfterChanges fails all hosts' power after a membership change. The change must survive.
func (w *world) failAfterChanges() {
	leader, _ := w.awaitLeader()
	if leader == nil {
		return
	}
	h := w.others(leader)[0]
	w.changed = func(what string, held func(m *shard.Membership) bool) {
		for _, h := range w.hosts {
			h.PowerFailure(lost)
		}
		w.trace("all power after a change", "%s", what)
		w.restartAll()
		_, lead := w.awaitLeader()
		if lead == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if m, err := lead.log.(shard.Members).Membership(ctx); err == nil && !held(&m) {
			w.oracle.fail("%s was made, and the membership is %+v", what, m)
		}
	}
	for i := 0; i < 3 && !w.oracle.failed(); i++ {
		w.replace(h)
	}
}

// failWhileReplacing fails a host's power at each disk step while its replica is replaced.
func (w *world) failWhileReplacing() {
	for i := int64(0); i < 24 && !w.oracle.failed(); i++ {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		h := w.others(leader)[int(i)%2]
		w.failBefore(h, i*6, nil, i%2 == 0)
		w.replace(h)
		h.Disk().Trap(nil)
		w.proposeMany(30)
	}
}

// failAfterRemoval removes one of two voters, and fails the remaining voter's power: the remaining voter can still
// lead, alone.
func (w *world) failAfterRemoval() {
	leader, r := w.awaitLeader()
	if leader == nil {
		return
	}
	other := w.others(leader)[0]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	members := r.log.(shard.Members)
	m, err := members.Membership(ctx)
	if err == nil {
		err = members.Remove(ctx, uint64(other.id), m.Change)
	}
	if err != nil {
		w.oracle.fail("remove: %w", err)
		return
	}
	leader.PowerFailure(lost)
	other.stop()
	other.Await()
	w.hosts = []*host{leader}
	w.restart(leader)
	w.awaitLeader()
}

// readAtOldLeaders partitions leaders, and reads from them while other hosts lead.
func (w *world) readAtOldLeaders() {
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	for _, h := range w.hosts {
		readers.Go(func() {
			for ctx.Err() == nil {
				if r := h.current(); r != nil {
					_ = r.read(w.oracle)
				}
				time.Sleep(3 * time.Millisecond)
			}
		})
	}
	for i := 0; i < 8 && !w.oracle.failed(); i++ {
		old, r := w.awaitLeader()
		if old == nil {
			break
		}
		if i%2 == 0 {
			w.isolate(old, true, i%4 == 0)
		} else {
			_ = r.log.Transfer(w.others(old)[0].id)
		}
		w.writeFor(5*time.Second, w.others(old)...)
		w.network.Heal()
	}
	cancel()
	readers.Wait()
}

// fillDisks fills one host's disk after another, starting at a given write.
func (w *world) fillDisks() {
	for i := range 40 {
		leader, _ := w.awaitLeader()
		if leader == nil {
			return
		}
		h := leader
		if i%2 == 1 {
			h = w.others(leader)[0]
		}
		from := h.Disk().Steps() + int64(w.random.IntN(60))
		h.Disk().Trap(func(s raftlogtest.Step) error {
			if s.Number >= from && s.TakesRoom() {
				return syscall.ENOSPC
			}
			return nil
		})
		w.trace("full disk", "of host %d from step %d", h.id, from)
		w.writeUntil(func() bool { return h.current() == nil })
		h.Disk().Trap(nil)
		if err := h.whyDamaged(); err != nil && !raftlog.NoRoom(err) {
			w.oracle.fail("a full disk ends host %d with %w", h.id, err)
		}
		w.restartAll()
	}
}
