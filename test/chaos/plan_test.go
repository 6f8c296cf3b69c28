//go:build linux

package chaos

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestASeedDrawsTheSameActsAgain(t *testing.T) {
	if a, b := Draw(7, 3), Draw(7, 3); !reflect.DeepEqual(a, b) {
		t.Errorf("seed 7 draws %v as act 3, and then %v", a, b)
	}
	if a, b := Draw(7, 3), Draw(7, 4); reflect.DeepEqual(a.Faults, b.Faults) {
		t.Errorf("acts 3 and 4 of seed 7 are the same: %v", a.Faults)
	}
	if a := Draw(7, 3); a.Batches < leastBatches || a.Batches > mostBatches || a.Batches == Draw(7, 4).Batches {
		t.Errorf("act 3 of seed 7 has a snapshot every %d batches, act 4 every %d", a.Batches, Draw(7, 4).Batches)
	}
	if a, b := Draw(7, 3), Draw(8, 3); reflect.DeepEqual(a.Faults, b.Faults) {
		t.Errorf("act 3 is the same of seeds 7 and 8: %v", a.Faults)
	}
}

// TestTenMinutesHaveDozensOfFaultsOfAllKinds checks plans only; cluster tests check their effects.
func TestTenMinutesHaveDozensOfFaultsOfAllKinds(t *testing.T) {
	for seed := range uint64(20) {
		var length time.Duration
		faults, long := 0, 0
		for n := 1; length < 10*time.Minute; n++ {
			a := Draw(seed, n)
			length += a.Length
			faults += len(a.Faults)
			for _, f := range a.Faults {
				if f.For >= longestTimeout+grace {
					long++
				}
				if f.At+f.For+calmTime > a.Length {
					t.Errorf("seed %d, act %d: %v does not end before the act, %v", seed, n, f, a.Length)
				}
			}
		}
		if faults < 48 || long < 5 {
			t.Errorf("seed %d has %d faults in ten minutes, %d of them longer than any lease", seed, faults, long)
		}
	}
	seen := make(map[Kind]bool)
	for n := range 400 {
		for _, f := range Draw(1, n).Faults {
			seen[f.Kind] = true
		}
	}
	for _, k := range slices.Concat(hostFaults, clientFaults, memberFaults) {
		if !seen[k] {
			t.Errorf("%s never happens", k)
		}
	}
}
