package raftlog

import (
	"fmt"
	"strings"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// Every host with a replica needs memory for entries accepted by the leader. So each host reports its memory in
// heartbeat answers: whether memory is nearly full, and how many bytes a shard may hold on the host. While a host
// reports nearly full memory, the leader refuses growing commands (Log.Guard). All hosts continue to accept the log,
// because the log also brings commands that free memory. The report is in Message.LogTerm, unused by the engine in
// heartbeat answers.

// mebibyte is the unit for a shard's allowance in a report.
const mebibyte = 1 << 20

// memoryReport is a host's report about memory.
type memoryReport struct {
	full bool
	mib  uint64 // a shard's allowance on the host; 0: unknown
}

func (r memoryReport) encode() uint64 { return r.mib<<1 | uint64(asOne(r.full)) }

func readMemory(reported uint64) memoryReport {
	return memoryReport{full: reported&1 == 1, mib: reported >> 1}
}

// reportMemory adds this host's memory report to a heartbeat answer.
func (h *Host) reportMemory(m *raftpb.Message) {
	m.LogTerm = memoryReport{full: h.memoryFull(), mib: h.shardBytes.Load() / mebibyte}.encode()
}

// SetShardBytes replaces Config.ShardBytes, because the number of shards has changed.
func (h *Host) SetShardBytes(bytes uint64) { h.shardBytes.Store(bytes) }

func (h *Host) memoryFull() bool { return h.config.Memory != nil && h.config.Memory() != nil }

// snapshotMemory is the memory per snapshot byte after restoring: small objects take more, large data takes less.
const snapshotMemory = 3

// memoryFits returns why a snapshot with the given size does not fit into this host's memory, replacing the present
// state. A snapshot no larger than the last snapshot always fits, however full the memory is, because the snapshot may
// bring deletions. The log always fits for the same reason.
func (l *Log) memoryFits(bytes uint64) error {
	last := l.machine.growth.snapshotBytes()
	if l.host.config.Fits == nil || bytes <= last {
		return nil
	}
	return l.host.config.Fits((bytes - last) * snapshotMemory)
}

// judgeMemory decides whether all hosts with replicas have memory for growth, skipping hosts after a long silence. An
// unchanged refusal is kept.
func (l *Log) judgeMemory() {
	var full []string
	if l.host.memoryFull() || l.host.followers.memoryFull.Load() > 0 {
		for _, id := range l.view.Load().hosts() {
			if d := l.diskOf(id); d.memory.full && d.silent <= awayElections*l.host.config.election() {
				full = append(full, fmt.Sprint(id))
			}
		}
	}
	if full == nil {
		l.memoryRefusal.Store(nil)
		return
	}
	err := fmt.Errorf("%w of hosts %s; reads, and requests that free memory, go on. Delete unneeded objects, or "+
		"give the hosts more memory", shard.ErrMemoryFull, strings.Join(full, ", "))
	if known := l.memoryRefusal.Load(); known == nil || (*known).Error() != err.Error() {
		l.memoryRefusal.Store(&err)
	}
}

// MemoryFullHosts returns the remote hosts that recently reported nearly full memory to a leader on this host.
func (h *Host) MemoryFullHosts() []shard.HostID {
	return h.reporting(func(l *Log) []shard.HostID { return l.view.Load().hosts() },
		func(d diskState) bool { return d.memory.full })
}

// Allowance returns how many bytes the shard may hold on remote hosts with replicas, the minimum over all, 0 if
// unknown. all is false if a host has not reported yet to this leader.
func (l *Log) Allowance() (bytes uint64, all bool) {
	leadership := l.leadership.Load()
	all = leadership.Leader == l.host.config.Host
	for _, id := range l.view.Load().hosts() {
		if id == l.host.config.Host {
			continue
		}
		known := l.host.followers.of(l.shardID, leadership.Term, id)
		if !known.reported {
			all = false
			continue
		}
		if held := known.memory.mib * mebibyte; held != 0 && (bytes == 0 || held < bytes) {
			bytes = held
		}
	}
	return bytes, all
}
