package history

import (
	"fmt"
	"testing"
)

// TestVersionsThatARolloutDoesNotKeepMayBeGone: a rollout keeps the newest versions. Each older version in use takes
// one place. With three kept of seven, and version 2 in use, versions 2, 6 and 7 remain.
func TestVersionsThatARolloutDoesNotKeepMayBeGone(t *testing.T) {
	for _, x := range []struct {
		name    string
		kept    uint64
		there   []uint64
		missing int // missing acknowledged version
	}{
		{"all of them", 8, []uint64{1, 2, 3, 4, 5, 6, 7}, 0},
		{"one is lost", 8, []uint64{1, 2, 4, 5, 6, 7}, 1},
		{"as many as are kept", 3, []uint64{5, 6, 7}, 0},
		{"one in use", 3, []uint64{2, 6, 7}, 0},
		{"one in use, and one lost", 3, []uint64{2, 7}, 1},
		{"the last one lost", 3, []uint64{4, 5, 6}, 1},
		{"how many are kept is not known", 0, []uint64{2, 6, 7}, 3},
	} {
		f, asked := &RolloutFinal{LastSeq: 7, Kept: x.kept}, make(map[string]*Request)
		for seq := uint64(1); seq <= 7; seq++ {
			asked[fmt.Sprint(seq)] = &Request{Kind: Publish, Outcome: Done, Seq: seq}
		}
		for _, seq := range x.there {
			f.Versions = append(f.Versions, FinalVersion{Seq: seq, Mark: fmt.Sprint(seq)})
		}
		if found := checkVersions(f, asked); len(found) != x.missing {
			t.Errorf("%s: %v", x.name, found)
		}
	}
}
