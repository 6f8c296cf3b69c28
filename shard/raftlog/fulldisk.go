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

// If the disk is full, a log store can only end the process. So a host with a nearly full disk stops accepting log
// entries (Log.takes), while heartbeats and votes go on. Answers to heartbeats report the full disk (markAnswer). If
// too few hosts remain for a majority, the leader refuses commands that do not free space (Log.Guard), and marks
// heartbeats; all hosts then accept entries again, down to the space reserved for snapshots. The mark is
// Message.Reject, unused by the engine in heartbeats and heartbeat answers.

// ErrFull is returned wrapped by Log.Guard.
var ErrFull = errors.New("too many hosts have nearly full disks")

const (
	// awayElections is how many election timeouts a host may be silent before counting as away in the leader's decision
	// whether a majority has disk space. A briefly slow host must not cause changes to be refused.
	awayElections = 10
	// diskWatch is the interval between checks whether disks on remote hosts have changed, and whether a different host
	// should lead.
	diskWatch = 250 * time.Millisecond
	// reliefPause is the pause between two attempts to transfer a shard's leadership.
	reliefPause = time.Second
	// reliefLag is how many entries a successor may be behind. The leader drops proposals until the successor has
	// caught up.
	reliefLag = 1000
)

// full reports whether this host's disk is nearly full.
func (h *Host) full() bool { return h.config.Full != nil && h.config.Full() != nil }

// room returns why the disk has no space for an optional file with the given size, beyond the space reserved for the
// log.
func (h *Host) room(bytes uint64) error {
	if h.config.Room == nil {
		return nil
	}
	return h.config.Room(bytes)
}

// missingRoom is a snapshot from a remote host that did not fit on the disk, or into memory. Until the deadline, this
// host accepts nothing unless the snapshot would fit: otherwise the leader would send the snapshot again and again.
type missingRoom struct {
	bytes uint64
	until time.Time
}

// snapshotRetry is the time after which a snapshot without space may be sent again: a later snapshot may be smaller.
const snapshotRetry = time.Minute

// missing is the size of a recent snapshot without space, in bytes, 0 if all recent snapshots fit.
func (l *Log) missing() uint64 {
	m := l.missingRoom.Load()
	if m == nil || time.Now().After(m.until) {
		return 0
	}
	return m.bytes
}

// takes reports whether this host accepts the next log entries, or the next snapshot chunk, from a shard's leader. For
// the beginning of a snapshot, snapshot is the total size, else 0.
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
		l.host.config.Logger.Warn("no space for a snapshot from a remote host", "shard", l.shardID, "bytes",
			snapshot, "disk", l.host.room(need), "memory", l.memoryFits(need))
	}
	return fits
}

// Takes implements transport.Replicas.
func (h *Host) Takes(shardID, snapshot uint64) bool {
	l := h.log(shardID)
	return l == nil || l.takes(snapshot)
}

// Sending implements transport.Replicas, and marks heartbeats to remote hosts, and answers to heartbeats.
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

// markAnswer marks a heartbeat answer if this host's disk is nearly full. If this host accepts no entries, the answer
// is a rejection for entry 0: the leader's engine treats the rejection as a sign of life and otherwise ignores it as
// outdated. A HeartbeatResp would make the leader send the missing entries, up to 64 MiB, every time.
func (l *Log) markAnswer(m *raftpb.Message) {
	if !l.host.full() && l.missing() == 0 {
		return
	}
	m.Reject = true
	if !l.takes(0) {
		m.Type, m.LogIndex, m.Hint, m.HintHigh = raftpb.ReplicateResp, 0, 0, 0
	}
}

// saysFull reports whether a message carries the sender's disk state, and whether the sender's disk is nearly full.
func saysFull(m *raftpb.Message) (full, says bool) {
	switch {
	case m.Type == raftpb.HeartbeatResp:
		return m.Reject, true
	case m.Type == raftpb.ReplicateResp && m.Reject && m.LogIndex == 0:
		return true, true
	}
	return false, false
}

// Received implements transport.Replicas. Received notes confirmations from remote hosts, and reads and clears the
// marks in messages. While the second-to-last voter is being removed, reads from remote hosts are not accepted.
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

// judgeRoom decides whether a majority has disk space for changes, and reports whether this leader refuses changes. An
// unchanged refusal is kept.
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
	err := fmt.Errorf("%w: hosts %s of %d; reads, and requests that free space, go on. Delete unneeded objects, or "+
		"free space on the disks", ErrFull, strings.Join(full, ", "), len(members))
	if known := l.refusal.Load(); known == nil || (*known).Error() != err.Error() {
		l.refusal.Store(&err)
	}
	return true
}

// voters are the hosts whose disk space decides about commits.
func (l *Log) voters() []shard.HostID { return l.view.Load().votingHosts() }

// diskState is the known state of a host's disk and memory.
type diskState struct {
	full   bool
	memory memoryReport
	silent time.Duration // since the last answer
	index  uint64        // last index the host has
}

// never is the silence of a host that has not answered yet.
const never = time.Duration(1<<63 - 1)

// diskOf returns a member's disk state, as known to the leader on this host.
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

// FullHosts returns the remote hosts that recently reported a nearly full disk to a leader on this host.
func (h *Host) FullHosts() []shard.HostID {
	return h.reporting((*Log).voters, func(d diskState) bool { return d.full })
}

// reporting returns the remote hosts with a matching recent report, among the hosts in each shard led here.
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

// RefusingShards is the number of shards led by this host with a refusal for commands that do not free space, because
// too many disks are nearly full.
func (h *Host) RefusingShards() (n int) {
	for _, l := range h.logsByShard() {
		if l.Guard() != nil {
			n++
		}
	}
	return n
}

// watchDisks logs when disks on remote hosts become nearly full, and when disks recover. If this host's own disk is
// nearly full, watchDisks transfers all leaderships.
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
			h.config.Logger.Warn("a remote host's disk is nearly full: the host accepts no more log entries",
				"host", id)
		}
	}
	for _, id := range before {
		if !slices.Contains(now, id) {
			h.config.Logger.Info("a remote host no longer reports a nearly full disk", "host", id)
		}
	}
}

// relieve transfers leadership if a different host should lead.
func (l *Log) relieve(now time.Time) {
	to := l.successor()
	if to == 0 || now.Sub(l.relieved) < reliefPause {
		return
	}
	l.relieved = now
	err := l.Transfer(to)
	l.host.config.Logger.Warn("this host's disk is nearly full: a remote host is to lead",
		"shard", l.shardID, "to", to, "error", err)
}

// successor returns the host that should lead instead of this host, which has a nearly full disk. Candidates are the
// answering voters with disk space; the voter with the longest log is chosen. The result is 0 if the candidates are no
// majority, because they could not commit without this host, or if the longest log is far behind.
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
