package raftlog

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

var errNoRoom = errors.New("no room")

// testDisk is a test host's disk.
type testDisk struct {
	full    atomic.Bool
	room    atomic.Uint64 // for snapshots; 0: for all
	asked   atomic.Int64  // number of full-disk checks
	dropped atomic.Int64  // messages
}

func (d *testDisk) isFull() error {
	d.asked.Add(1)
	if d.full.Load() {
		return errNoRoom
	}
	return nil
}

func (d *testDisk) fits(bytes uint64) error {
	if room := d.room.Load(); room != 0 && bytes > room {
		return errNoRoom
	}
	return nil
}

func (d *testDisk) refused(r transport.Refusal) {
	if r == transport.RefusedFull {
		d.dropped.Add(1)
	}
}

type disks map[shard.HostID]*testDisk

// openThreeWithDisks opens three hosts, and returns them with the leader first.
func openThreeWithDisks(t *testing.T, change func(*Config)) (disks, []*member) {
	t.Helper()
	d := make(disks)
	all, leader := openConnected(t, func(c *Config) {
		disk := new(testDisk)
		d[c.Host] = disk
		c.Full, c.Room = disk.isFull, disk.fits
		if change != nil {
			change(c)
		}
	}, func(c *transport.Config) { c.Refused = d[c.Identity.Host].refused })
	return d, append([]*member{leader}, others(all, leader)...)
}

func (d disks) of(m *member) *testDisk { return d[m.config.Host] }

func (m *member) guard() error { return m.log.(*Log).Guard() }

func TestAFollowerWithAFullDiskTakesNothingAndCatchesUp(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"from the log":                         nil,
		"from a snapshot, the log was dropped": fewEntries,
	} {
		t.Run(name, func(t *testing.T) {
			d, m := openThreeWithDisks(t, change)
			leader, full, other := m[0], m[1], m[2]
			want := leader.mustPropose(0, 3)
			full.machine.awaitBatches(t, want)
			d.of(full).full.Store(true)
			eventually(t, "the leader knows of the disk", func() bool {
				return slices.Equal(leader.host.FullHosts(), []shard.HostID{full.config.Host})
			})
			if _, near := leader.log.(*Log).Follower(full.config.Host); near {
				t.Error("a host with a full disk could lead")
			}
			want = append(want, leader.mustPropose(3, 60)...)
			other.machine.awaitBatches(t, want)
			if err := leader.barrier(); err != nil || leader.guard() != nil {
				t.Errorf("two of three have room: %v, %v", err, leader.guard())
			}
			if got := full.machine.applied(); len(got) != 3 {
				t.Errorf("with a full disk %d batches are applied, want 3", len(got))
			}
			eventually(t, "the log is dropped that the full host lacks", func() bool {
				return change == nil || leader.firstIndex() > full.host.Status()[0].LastIndex+1
			})
			d.of(full).full.Store(false)
			full.machine.awaitBatches(t, want)
			eventually(t, "the leader knows of the room", func() bool { return len(leader.host.FullHosts()) == 0 })
			if change != nil && full.machine.restoreCount() == 0 {
				t.Error("no snapshot was sent")
			}
		})
	}
}

// TestALeaderDoesNotRepeatWhatAFullDiskDoesNotTake: a new leader does not know the followers' positions, and would send
// a lagging follower all missing entries after each heartbeat answer.
func TestALeaderDoesNotRepeatWhatAFullDiskDoesNotTake(t *testing.T) {
	d, m := openThreeWithDisks(t, nil)
	leader, full, next := m[0], m[1], m[2]
	d.of(full).full.Store(true)
	want := leader.mustPropose(0, 20)
	transfer(t, m, leader, next)
	want = append(want, next.mustPropose(20, 21)...)
	disk := d.of(full)
	from, dropped := disk.asked.Load(), disk.dropped.Load()
	eventually(t, "many heartbeats", func() bool { return disk.asked.Load() > from+200 })
	if again := disk.dropped.Load() - dropped; again > 20 {
		t.Errorf("%d messages were dropped in a cluster in which nothing happens", again)
	}
	disk.full.Store(false)
	full.machine.awaitBatches(t, want)
}

func TestALeaderWithAFullDiskHasAnotherHostLead(t *testing.T) {
	d, m := openThreeWithDisks(t, nil)
	leader, full, other := m[0], m[1], m[2]
	want := leader.mustPropose(0, 3)
	d.of(full).full.Store(true)
	eventually(t, "the leader knows of the disk", func() bool { return len(leader.host.FullHosts()) == 1 })
	d.of(leader).full.Store(true)
	eventually(t, "changes are refused", func() bool { return errors.Is(leader.guard(), ErrFull) })
	if to := leader.log.(*Log).successor(); to != 0 {
		t.Errorf("host %d is to lead, and cannot commit anything without a host whose disk is full", to)
	}
	d.of(full).full.Store(false)
	other.machine.awaitLeader(t, func(l shard.Leadership) bool {
		return l.Leader != leader.config.Host && l.Leader != 0
	})
	next := leaderOf(t, m)
	if next == leader {
		t.Fatal("the host with a full disk leads again")
	}
	if err := leader.guard(); err != nil {
		t.Errorf("a host that does not lead refuses: %v", err)
	}
	want = append(want, next.mustPropose(3, 6)...)
	for _, m := range others(m, leader) {
		m.machine.awaitBatches(t, want)
	}
}

func TestWithTheDisksOfAMajorityFullOnlyWhatFreesRoomIsTaken(t *testing.T) {
	d, m := openThreeWithDisks(t, nil)
	leader := m[0]
	want := leader.mustPropose(0, 3)
	for _, follower := range m[1:] {
		follower.machine.awaitBatches(t, want)
		d.of(follower).full.Store(true)
	}
	eventually(t, "changes are refused", func() bool { return errors.Is(leader.guard(), ErrFull) })
	want = append(want, leader.mustPropose(3, 6)...) // those that free space: the log does not know which do
	for _, m := range m {
		m.machine.awaitBatches(t, want)
	}
	d.of(m[1]).full.Store(false)
	eventually(t, "changes are taken", func() bool { return leader.guard() == nil })
	want = append(want, leader.mustPropose(6, 9)...)
	m[1].machine.awaitBatches(t, want)
	if got := len(m[2].machine.applied()); got != 6 {
		t.Errorf("with a full disk %d batches are applied, want 6", got)
	}
}

func TestASnapshotForWhichThereIsNoRoomIsNotTaken(t *testing.T) {
	d, m := openThreeWithDisks(t, fewEntries)
	leader, away := m[0], m[1]
	disk := d.of(away)
	away.close()
	want := leader.mustPropose(0, 40)
	disk.room.Store(1)
	away.open()
	eventually(t, "the leader knows that there is no room", func() bool { return len(leader.host.FullHosts()) == 1 })
	from, dropped := disk.asked.Load(), disk.dropped.Load()
	eventually(t, "many heartbeats", func() bool { return disk.asked.Load() > from+200 })
	if again := disk.dropped.Load() - dropped; again > 20 {
		t.Errorf("%d messages were dropped in a cluster in which nothing happens", again)
	}
	disk.room.Store(0)
	away.machine.awaitBatches(t, want)
	eventually(t, "the leader knows that there is room", func() bool { return len(leader.host.FullHosts()) == 0 })
}

func TestMarksOfDisks(t *testing.T) {
	for name, c := range map[string]struct {
		m          raftpb.Message
		full, says bool
	}{
		"an answer to a heartbeat": {raftpb.Message{Type: raftpb.HeartbeatResp}, false, true},
		"one of a full disk":       {raftpb.Message{Type: raftpb.HeartbeatResp, Reject: true}, true, true},
		"one that takes nothing":   {raftpb.Message{Type: raftpb.ReplicateResp, Reject: true}, true, true},
		"an entry that is taken":   {raftpb.Message{Type: raftpb.ReplicateResp, LogIndex: 3}, false, false},
		"an entry that comes early": {raftpb.Message{Type: raftpb.ReplicateResp, Reject: true, LogIndex: 3}, false,
			false},
	} {
		if full, says := saysFull(&c.m); full != c.full || says != c.says {
			t.Errorf("%s: %v, %v", name, full, says)
		}
	}
}
