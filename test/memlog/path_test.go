package memlog

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

func TestMessagesKeepTheirOrderUnlessReordered(t *testing.T) {
	for _, reorder := range []bool{false, true} {
		n, err := NewNetwork(Config{Seed: 42, Hosts: []shard.HostID{1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range n.hosts {
			if _, err := n.Open(h.id, 1, discarding{}); err != nil {
				t.Fatal(err)
			}
		}
		n.SetPaths(Path{Delay: Between(0, 5*time.Millisecond), Reorder: reorder})
		var arrived []int
		n.do(func() {
			for i := range 20 {
				n.send(n.hosts[0], n.groups[0].replicas[1], func() { arrived = append(arrived, i) })
			}
		})
		n.Advance(time.Second)
		if inOrder := slices.IsSorted(arrived); len(arrived) != 20 || inOrder == reorder {
			t.Errorf("reorder %v: they arrived as %v", reorder, arrived)
		}
	}
}
