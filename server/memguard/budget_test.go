package memguard

import (
	"errors"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestTheSmallestKnownLimitCounts(t *testing.T) {
	unknown := func() (uint64, error) { return 0, errors.New("unknown") }
	for _, c := range []struct {
		providers []memlimit.Provider
		want      uint64
	}{
		{[]memlimit.Provider{memlimit.Limit(3), memlimit.Limit(5)}, 3},
		{[]memlimit.Provider{memlimit.Limit(5), memlimit.Limit(3)}, 3},
		{[]memlimit.Provider{unknown, memlimit.Limit(5)}, 5},
		{[]memlimit.Provider{memlimit.Limit(3), unknown}, 3},
		{[]memlimit.Provider{unknown, unknown}, 0},
	} {
		if got := smallest(c.providers...); got != c.want {
			t.Errorf("%d, want %d", got, c.want)
		}
	}
}

// TestABudgetHoldsWhatItPromises: the sum of all limits and the host's own memory is below the high mark, for hosts of
// all sizes.
func TestABudgetHoldsWhatItPromises(t *testing.T) {
	const most, itself = 4 << 30, 8 * mib
	for memory := Budget(128 * mib); memory <= 256<<30; memory += memory / 7 {
		for _, shards := range []int{1, 3, 8, 64} {
			promised := Promised(shards, memory.ShardBytes(shards, most), memory.PendingBytes(), memory.PartialBytes(),
				memory.WatchBytes()) + itself
			if high := memory.HighMark(); promised > high {
				t.Errorf("%d MiB, %d shards: %d MiB are promised, the high mark is %d MiB", memory/mib, shards,
					promised/mib, high/mib)
			}
		}
		if heap := memory.Heap(); heap > uint64(memory)-32*mib || heap < uint64(memory)/2 {
			t.Errorf("%d MiB: a heap of %d MiB", memory/mib, heap/mib)
		}
	}
}

func TestMachinesThatDifferByALittleHaveOneQuota(t *testing.T) {
	for _, memory := range []Budget{1000 * mib, 15_900 * mib} {
		if a, b := memory.ShardBytes(1, 1<<40), (memory+3*mib).ShardBytes(1, 1<<40); a != b {
			t.Errorf("%d and %d bytes", a, b)
		}
	}
}

func TestUnknownMemoryHasTheLimitsOfALargeHost(t *testing.T) {
	if b := Budget(0); b.ShardBytes(3, 4<<30) != 4<<30 || b.PendingBytes() != 512*mib || b.WatchBytes() != 512*mib ||
		b.PartialBytes() != 64*mib || b.Connections() < 1_000_000 {
		t.Error("unknown memory bounds something")
	}
}
