package barrier

import (
	"slices"
	"testing"
)

func TestDecisions(t *testing.T) {
	for _, test := range []struct {
		what            string
		before          decision
		members         []uint64
		generation      uint64
		inside, waiting []uint64
	}{
		{"too few", decision{}, []uint64{1, 2}, 0, nil, []uint64{1, 2}},
		{"enough", decision{}, []uint64{1, 2, 3}, 9, []uint64{1, 2, 3}, nil},
		{"too many", decision{}, []uint64{1, 2, 3, 4}, 9, []uint64{1, 2, 3}, []uint64{4}},
		{"one is inside still", decision{Generation: 5, Inside: []uint64{1, 2, 3}}, []uint64{3, 6, 7, 8}, 5,
			[]uint64{3}, []uint64{6, 7, 8}},
		{"all have left", decision{Generation: 5, Inside: []uint64{1, 2, 3}}, []uint64{6, 7, 8}, 9,
			[]uint64{6, 7, 8}, nil},
		{"those who waited come first", decision{Generation: 5, Inside: []uint64{1, 2, 3}, Waiting: []uint64{4}},
			[]uint64{4, 6, 7, 8}, 9, []uint64{4, 6, 7}, []uint64{8}},
	} {
		d := test.before.next(9, 3, test.members)
		if d.Parties != 3 || d.Generation != test.generation || !slices.Equal(d.Inside, test.inside) ||
			!slices.Equal(d.Waiting, test.waiting) {
			t.Errorf("%s: it decides %+v", test.what, d)
		}
	}
}
