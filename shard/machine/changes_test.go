package machine

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// follower maintains a view of a semaphore's owners and data by deltas, like a watcher.
type follower struct {
	node      shard.NodeID
	name      []byte
	exists    bool
	revision  shard.Revision
	data      string
	owners    []shard.LinkView
	snapshots int
	deltas    int
}

func (f *follower) catchUp(t *testing.T, m *Machine) {
	var d shard.Delta
	switch kind := m.Changes(refOf(f.node, f.name), f.revision, &d); kind {
	case shard.DeltaNone:
	case shard.DeltaAbsent:
		f.exists, f.data, f.owners = false, "", nil
		f.revision = d.To
	case shard.DeltaSnapshot:
		f.snapshots++
		var desc shard.Description
		if !m.Describe(refOf(f.node, f.name), shard.DescribeOptions{Owners: true}, &desc) || desc.More {
			t.Fatal("no snapshot to be had in one page")
		}
		f.exists, f.revision, f.data = true, desc.Revision, desc.Data
		f.owners = slices.Clone(desc.Links)
	case shard.DeltaChanges:
		f.deltas++
		if d.To <= f.revision {
			t.Fatalf("a delta from %d to %d", f.revision, d.To)
		}
		f.exists, f.revision = true, d.To
		if d.DataChanged {
			f.data = d.Data
		}
		f.owners = slices.DeleteFunc(f.owners, func(l shard.LinkView) bool {
			return slices.Contains(d.Gone, l.Order) ||
				slices.ContainsFunc(d.Joined, func(j shard.LinkView) bool { return j.Order == l.Order })
		})
		f.owners = append(f.owners, d.Joined...)
		slices.SortFunc(f.owners, func(a, b shard.LinkView) int { return cmp.Compare(a.Order, b.Order) })
	default:
		t.Fatalf("kind %d on the replica that gave the revision", kind)
	}
}

func TestFollowersThatCatchUpNowAndThenSeeWhatDescribeSees(t *testing.T) {
	for _, history := range []int{64, 256, 1 << 14} {
		m := New(TestKinds, Options{History: history})
		b := newBusy(m, uint64(history))
		var followers []*follower
		for i := range 60 {
			for node := shard.NodeID(1); node <= 3; node++ {
				followers = append(followers, &follower{node: node, name: fmt.Appendf(nil, "s%d", i)})
				followers = append(followers, &follower{node: node, name: fmt.Appendf(nil, "s%de", i)})
			}
		}
		snapshots, deltas := 0, 0
		for round := range 500 {
			b.steps(4)
			if round%100 == 99 { // a restart forgets the history
				if err := m.Restore(bytesReader(machinetest.File(t, m))); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range followers {
				if b.rng.IntN(4) > 0 {
					continue
				}
				f.catchUp(t, m)
				var desc shard.Description
				exists := m.Describe(refOf(f.node, f.name), shard.DescribeOptions{Owners: true}, &desc)
				if exists != f.exists || exists && (desc.Data != f.data || len(desc.Links) != len(f.owners) ||
					len(f.owners) > 0 && !reflect.DeepEqual(desc.Links, f.owners)) {
					t.Fatalf("history %d, round %d, %s: have %+v\nwant %+v", history, round, f.name, f, desc)
				}
			}
		}
		for _, f := range followers {
			snapshots += f.snapshots
			deltas += f.deltas
		}
		if deltas < 1000 {
			t.Fatalf("only %d deltas in all: the test shows little", deltas)
		}
		t.Logf("history %d: %d deltas, %d snapshots", history, deltas, snapshots)
	}
}

func TestChangesOfARevisionThatTheReplicaHasNotSeenAreNotGuessed(t *testing.T) {
	m := New(TestKinds, Options{})
	var d shard.Delta
	if kind := m.Changes(refOf(1, []byte("x")), 5, &d); kind != shard.DeltaBehind {
		t.Fatal(kind)
	}
	if kind := m.Changes(refOf(1, []byte("x")), 0, &d); kind != shard.DeltaAbsent {
		t.Fatal(kind)
	}
}
