package raftlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// testMemory is a test host's memory.
type testMemory struct {
	full  atomic.Bool
	room  atomic.Uint64 // for snapshots; 0: for all
	asked atomic.Int64  // how often the host looked whether a snapshot fits
}

func (m *testMemory) isFull() error {
	if m.full.Load() {
		return shard.ErrMemoryFull
	}
	return nil
}

func (m *testMemory) fits(bytes uint64) error {
	m.asked.Add(1)
	if room := m.room.Load(); room != 0 && bytes > room {
		return shard.ErrMemoryFull
	}
	return m.isFull()
}

// openThreeWithMemory opens three hosts with the given allowed MiB per shard, by id, and returns them with the leader
// first.
func openThreeWithMemory(t *testing.T, allowed [3]uint64, change func(*Config)) (
	map[shard.HostID]*testMemory, []*member) {
	t.Helper()
	memory := make(map[shard.HostID]*testMemory)
	all, leader := openConnected(t, func(c *Config) {
		m := new(testMemory)
		memory[c.Host] = m
		c.Memory, c.Fits, c.ShardBytes = m.isFull, m.fits, allowed[c.Host-1]*mebibyte
		if change != nil {
			change(c)
		}
	}, nil)
	return memory, append([]*member{leader}, others(all, leader)...)
}

// TestTheLeaderRefusesGrowthWhileTheMemoryOfAnyHostIsFull: every host still accepts the log, because it contains
// commands that free memory.
func TestTheLeaderRefusesGrowthWhileTheMemoryOfAnyHostIsFull(t *testing.T) {
	memory, m := openThreeWithMemory(t, [3]uint64{}, nil)
	leader, full := m[0], m[1]
	want := leader.mustPropose(0, 3)
	if err := leader.guard(); err != nil {
		t.Errorf("all have memory: %v", err)
	}
	memory[full.config.Host].full.Store(true)
	eventually(t, "growth is refused", func() bool { return errors.Is(leader.guard(), shard.ErrMemoryFull) })
	if text := leader.guard().Error(); !strings.Contains(text, fmt.Sprintf("of hosts %d;", full.config.Host)) {
		t.Error(text)
	}
	if err := full.guard(); err != nil {
		t.Errorf("a host that does not lead refuses: %v", err)
	}
	want = append(want, leader.mustPropose(3, 6)...)
	for _, m := range m {
		m.machine.awaitBatches(t, want)
	}
	if got := leader.host.MemoryFullHosts(); !slices.Equal(got, []shard.HostID{full.config.Host}) {
		t.Errorf("hosts %v report that their memory is full", got)
	}
	if n := len(leader.host.FullHosts()); n != 0 {
		t.Errorf("the disks of %d hosts are taken for full", n)
	}
	memory[full.config.Host].full.Store(false)
	eventually(t, "growth is accepted", func() bool { return leader.guard() == nil })

	memory[leader.config.Host].full.Store(true)
	eventually(t, "growth is refused for want of the leader's own memory", func() bool { return leader.guard() != nil })
	memory[leader.config.Host].full.Store(false)
	eventually(t, "growth is accepted again", func() bool { return leader.guard() == nil })
}

// TestTheLeastThatAnotherHostAllowsIsKnownOnceAllHaveReported.
func TestTheLeastThatAnotherHostAllowsIsKnownOnceAllHaveReported(t *testing.T) {
	_, m := openThreeWithMemory(t, [3]uint64{30, 20, 10}, nil)
	allowedBy := func(m *member) uint64 { return m.config.ShardBytes }
	leader, away := m[0], m[1]
	least := min(allowedBy(m[1]), allowedBy(m[2]))
	eventually(t, "all have reported", func() bool {
		bytes, all := leader.log.(*Log).Allowance()
		return all && bytes == least
	})
	if _, all := away.log.(*Log).Allowance(); all {
		t.Error("a host that does not lead knows what all allow")
	}
	away.close()
	next := m[2]
	transfer(t, []*member{leader, next}, leader, next)
	eventually(t, "the new leader knows one other host", func() bool {
		bytes, all := next.log.(*Log).Allowance()
		return !all && bytes == allowedBy(leader)
	})
	away.open()
	eventually(t, "all have reported to the new leader", func() bool {
		_, all := next.log.(*Log).Allowance()
		return all
	})
}

// TestASnapshotThatTheMemoryDoesNotHoldIsNotTaken: until there is enough memory.
func TestASnapshotThatTheMemoryDoesNotHoldIsNotTaken(t *testing.T) {
	memory, m := openThreeWithMemory(t, [3]uint64{}, fewEntries)
	leader, away := m[0], m[1]
	small := memory[away.config.Host]
	away.close()
	want := leader.mustPropose(0, 40)
	small.room.Store(1)
	away.open()
	eventually(t, "the leader knows that there is no room", func() bool { return len(leader.host.FullHosts()) == 1 })
	if n := away.machine.restoreCount(); n != 0 {
		t.Errorf("%d snapshots were restored without memory", n)
	}
	small.room.Store(0)
	away.machine.awaitBatches(t, want)
	eventually(t, "the leader knows that there is room", func() bool { return len(leader.host.FullHosts()) == 0 })
}

// TestFollowersWithoutDiskAndMemoryTakeWhatFreesThem: a majority has neither, and commands accepted by the leader are
// committed nevertheless. A snapshot is accepted if it is no larger than the last one.
func TestFollowersWithoutDiskAndMemoryTakeWhatFreesThem(t *testing.T) {
	d := make(disks)
	memory, m := openThreeWithMemory(t, [3]uint64{}, func(c *Config) {
		disk := new(testDisk)
		d[c.Host] = disk
		c.Full = disk.isFull
	})
	leader := m[0]
	want := leader.mustPropose(0, 3)
	for _, follower := range m[1:] {
		follower.machine.awaitBatches(t, want)
		d.of(follower).full.Store(true)
		memory[follower.config.Host].full.Store(true)
	}
	eventually(t, "changes are refused", func() bool { return errors.Is(leader.guard(), ErrFull) })
	want = append(want, leader.mustPropose(3, 6)...)
	for _, m := range m {
		m.machine.awaitBatches(t, want)
	}
	l := m[1].log.(*Log)
	l.machine.growth.restore(1000)
	if !l.takes(1000) {
		t.Error("a snapshot of the size of the last one is not taken")
	}
	if l.takes(1001) {
		t.Error("a larger snapshot is taken without memory")
	}
}

// TestReportsOfMemoryDoNotReachTheEngine: and they are complete.
func TestReportsOfMemoryDoNotReachTheEngine(t *testing.T) {
	_, m := openThreeWithMemory(t, [3]uint64{}, nil)
	messages := []raftpb.Message{{Type: raftpb.HeartbeatResp, ShardID: 1, LogTerm: memoryReport{true, 7}.encode()}}
	m[0].host.Received(m[1].config.Host, messages)
	if messages[0].LogTerm != 0 {
		t.Errorf("%+v", messages[0])
	}
	for _, want := range []memoryReport{{}, {full: true}, {mib: 4096}, {true, 1 << 40}} {
		if got := readMemory(want.encode()); got != want {
			t.Errorf("%+v became %+v", want, got)
		}
	}
}
