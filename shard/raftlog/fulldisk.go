package raftlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// A store of the log has no answer to a full disk but to end the process. So a host whose disk is nearly full takes no
// more of the log (Log.takes), while its heartbeats and votes go on, and says so in its answers to heartbeats
// (markAnswer). Where too few hosts are left for a majority, the leader refuses what does not free room (Log.Guard),
// and marks its heartbeats; then all hosts take the log again, down to what snapshots leave for it. What is marked is
// Message.Reject, which the engine does not use in those messages.

// ErrFull is returned wrapped by Log.Guard.
var ErrFull = errors.New("the disks of too many hosts are nearly full")

const (
	// awayElections is after how many election timeouts of silence the leader counts a host as away when it judges
	// whether a majority has room. A host that is only slow for a moment must not have changes refused.
	awayElections = 10
	// diskWatch is how often a host looks whether other hosts' disks have changed, and whether one of those should lead
	// in its place.
	diskWatch = 250 * time.Millisecond
	// reliefPause lies between two tries to have another host lead a shard.
	reliefPause = time.Second
	// reliefLag is by how many entries a host may be behind that is to lead in the place of this one. The leader drops
	// what is proposed until it has caught up.
	reliefLag = 1000
)

// full reports whether the disk of this host is nearly full.
func (h *Host) full() bool { return h.config.Full != nil && h.config.Full() != nil }

// room returns why the disk has no room for so many more bytes of an optional file, besides what is left for the log.
func (h *Host) room(bytes uint64) error {
	if h.config.Room == nil {
		return nil
	}
	return h.config.Room(bytes)
}

// missingRoom is a snapshot of another host for which the disk, or the memory, had no room. Until then nothing is taken
// unless there is room for it: the leader would send it again and again.
type missingRoom struct {
	bytes uint64
	until time.Time
}

// snapshotRetry is after which time a snapshot that found no room may be sent again: a later one may be smaller.
const snapshotRetry = time.Minute

// missing is how many bytes a snapshot had that found no room, 0 where there was none lately.
func (l *Log) missing() uint64 {
	m := l.missingRoom.Load()
	if m == nil || time.Now().After(m.until) {
		return 0
	}
	return m.bytes
}

// takes reports whether this host takes the next part of the log of a shard, or of a snapshot, from its leader. The
// size is that of the whole snapshot where this is its beginning, else 0.
func (l *Log) takes(snapshot uint64) bool {
	full := l.host.full()
	if full && !l.leaderRefuses.Load() {
		return false
	}
	need := max(snapshot, l.missing())
	if need == 0 && !full {
		return true
	}
	fits := l.host.room(need) == nil && l.memoryFits(need) == nil
	switch {
	case fits:
		l.missingRoom.Store(nil)
	case snapshot > 0:
		l.missingRoom.Store(&missingRoom{snapshot, time.Now().Add(snapshotRetry)})
		l.host.config.Logger.Warn("there is no room for a snapshot of another host", "shard", l.shardID, "bytes",
			snapshot, "disk", l.host.room(need), "memory", l.memoryFits(need))
	}
	return fits
}

// Takes implements transport.Replicas.
func (h *Host) Takes(shardID, snapshot uint64) bool {
	l := h.log(shardID)
	return l == nil || l.takes(snapshot)
}

// Sending implements transport.Replicas: it marks heartbeats to other hosts, and their answers.
func (h *Host) Sending(messages []raftpb.Message) {
	for i := range messages {
		m := &messages[i]
		if m.Type != raftpb.Heartbeat && m.Type != raftpb.HeartbeatResp {
			continue
		}
		l := h.log(m.ShardID)
		switch {
		case l == nil:
		case m.Type == raftpb.Heartbeat:
			m.Reject = l.judgeRoom()
			l.judgeMemory()
		default:
			h.reportMemory(m)
			l.markAnswer(m)
		}
	}
}

// markAnswer marks the answer to a heartbeat where the disk of this host is nearly full. Where it takes nothing of the
// log the answer is a refusal of entry 0, which the engine of the leader counts as a sign of life and otherwise ignores
// as one that is overtaken. A HeartbeatResp would make it send what is missing, up to 64 MiB, every time.
func (l *Log) markAnswer(m *raftpb.Message) {
	if !l.host.full() && l.missing() == 0 {
		return
	}
	m.Reject = true
	if !l.takes(0) {
		m.Type, m.LogIndex, m.Hint, m.HintHigh = raftpb.ReplicateResp, 0, 0, 0
	}
}

// saysFull reports whether a message says of its sender's disk how full it is, and whether it is nearly full.
func saysFull(m *raftpb.Message) (full, says bool) {
	switch {
	case m.Type == raftpb.HeartbeatResp:
		return m.Reject, true
	case m.Type == raftpb.ReplicateResp && m.Reject && m.LogIndex == 0:
		return true, true
	}
	return false, false
}

// Received implements transport.Replicas: it notes what other hosts confirm, reads the marks in their messages, and
// removes those. Reads of other hosts are not taken while the last voter but one is being removed.
func (h *Host) Received(from shard.HostID, messages []raftpb.Message) {
	h.followers.note(from, messages)
	h.confirmations.note(from, messages, h.appliedOf)
	for i := range messages {
		switch m := &messages[i]; m.Type {
		case raftpb.Heartbeat:
			h.checkSetBack(from, m)
			if l := h.log(m.ShardID); l != nil {
				l.leaderRefuses.Store(m.Reject)
			}
			m.Reject = false
		case raftpb.HeartbeatResp:
			m.Reject, m.LogTerm = false, 0
		case raftpb.ReadIndex:
			if l := h.log(m.ShardID); l != nil && l.reads.isHeld() {
				m.Type = raftpb.NoOP // the host asks again
			}
		}
	}
}

// judgeRoom decides whether a majority has room for changes, and reports whether this leader refuses them. The refusal
// of an earlier time stays while it says the same.
func (l *Log) judgeRoom() bool {
	if !l.host.full() && l.host.followers.full.Load() == 0 {
		l.refusal.Store(nil)
		return false
	}
	members := l.voters()
	var able int
	var full []string
	for _, id := range members {
		switch d := l.diskOf(id); {
		case d.full && d.silent <= awayElections*l.host.config.election():
			full = append(full, fmt.Sprint(id))
		case d.silent <= awayElections*l.host.config.election():
			able++
		}
	}
	if able > len(members)/2 || len(full) == 0 {
		l.refusal.Store(nil)
		return false
	}
	err := fmt.Errorf("%w: hosts %s of %d; reads, and what frees room, go on. Delete what is not needed, or make "+
		"room on those disks", ErrFull, strings.Join(full, ", "), len(members))
	if known := l.refusal.Load(); known == nil || (*known).Error() != err.Error() {
		l.refusal.Store(&err)
	}
	return true
}

// voters are the hosts whose disks decide what is committed.
func (l *Log) voters() []shard.HostID { return l.view.Load().votingHosts() }

// diskState is what is known of the disk and of the memory of a host.
type diskState struct {
	full   bool
	memory memoryReport
	silent time.Duration // since its last answer
	index  uint64        // up to which it has the log
}

// never is how long a host is silent that has not answered yet.
const never = time.Duration(1<<63 - 1)

// diskOf returns what this host, which leads, knows of a member's disk.
func (l *Log) diskOf(id shard.HostID) diskState {
	if id == l.host.config.Host {
		return diskState{full: l.host.full(), memory: memoryReport{full: l.host.memoryFull()},
			index: l.machine.applied.Load()}
	}
	known := l.host.followers.of(l.shardID, l.leadership.Load().Term, id)
	if known.heard.IsZero() {
		return diskState{silent: never}
	}
	return diskState{full: known.full, memory: known.memory, silent: time.Since(known.heard), index: known.index}
}

// FullHosts returns the other hosts that have said lately to this one, where it leads, that their disks are nearly
// full.
func (h *Host) FullHosts() []shard.HostID {
	return h.reporting((*Log).voters, func(d diskState) bool { return d.full })
}

// reporting returns the other hosts that have reported something lately, among the hosts of each shard led here.
func (h *Host) reporting(of func(*Log) []shard.HostID, something func(diskState) bool) []shard.HostID {
	var all []shard.HostID
	for _, l := range h.logsByShard() {
		if l.leadership.Load().Leader != h.config.Host {
			continue
		}
		for _, id := range of(l) {
			d := l.diskOf(id)
			if id != h.config.Host && something(d) && d.silent <= awayElections*h.config.election() {
				all = append(all, id)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// RefusingShards is how many shards there are that this host leads, and in which it refuses what does not free room
// because the disks of too many hosts are nearly full.
func (h *Host) RefusingShards() (n int) {
	for _, l := range h.logsByShard() {
		if l.Guard() != nil {
			n++
		}
	}
	return n
}

// watchDisks logs when other hosts' disks are nearly full, and when they are not any more. Where this host's own disk
// is, it has others lead.
func (h *Host) watchDisks() {
	ticker := time.NewTicker(diskWatch)
	defer ticker.Stop()
	var known []shard.HostID
	for {
		select {
		case <-h.stop:
			return
		case <-ticker.C:
		}
		full := h.FullHosts()
		h.logDisks(known, full)
		known = full
		if h.full() {
			for _, l := range h.logsByShard() {
				l.relieve(time.Now())
			}
		}
	}
}

func (h *Host) logDisks(before, now []shard.HostID) {
	for _, id := range now {
		if !slices.Contains(before, id) {
			h.config.Logger.Warn("the disk of another host is nearly full: it takes no more of the log",
				"host", id)
		}
	}
	for _, id := range before {
		if !slices.Contains(now, id) {
			h.config.Logger.Info("another host does not say any more that its disk is nearly full", "host", id)
		}
	}
}

// relieve has another host lead where one should.
func (l *Log) relieve(now time.Time) {
	to := l.successor()
	if to == 0 || now.Sub(l.relieved) < reliefPause {
		return
	}
	l.relieved = now
	err := l.Transfer(to)
	l.host.config.Logger.Warn("the disk of this host is nearly full: another host is to lead",
		"shard", l.shardID, "to", to, "error", err)
}

// successor returns the host that should lead in the place of this one, whose disk is nearly full: the one that has
// most of the log among those that have room and answer. It returns 0 where those are no majority, which could not
// commit anything without this host, and where the best of them is far behind.
func (l *Log) successor() shard.HostID {
	if l.leadership.Load().Leader != l.host.config.Host {
		return 0
	}
	var best shard.HostID
	var most uint64
	able := 0
	members := l.voters()
	for _, id := range members {
		d := l.diskOf(id)
		if d.full || d.silent > l.host.config.election() {
			continue
		}
		able++
		if best == 0 || d.index > most {
			best, most = id, d.index
		}
	}
	if able <= len(members)/2 || most+reliefLag < l.machine.applied.Load() {
		return 0
	}
	return best
}
