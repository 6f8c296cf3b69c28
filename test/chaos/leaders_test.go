//go:build linux

package chaos

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/wire"
)

// TestAShardWithoutALeaderIsFoundAfterTenSeconds: looks are half a second apart. L is a look that shows a leader, or
// that no leader is possible.
func TestAShardWithoutALeaderIsFoundAfterTenSeconds(t *testing.T) {
	const second = 2
	looks := func(n int, is byte) string { return string(slices.Repeat([]byte{is}, n)) }
	for name, x := range map[string]struct {
		looks string
		found int
	}{
		"a leader all the time":      {looks(100*second, 'L'), 0},
		"ten seconds without":        {looks(10*second, '-'), 0},
		"longer":                     {looks(10*second+1, '-'), 1},
		"twice that long":            {looks(20*second+2, '-'), 2},
		"a leader in between":        {looks(9*second, '-') + "L" + looks(9*second, '-'), 0},
		"a leader, and then none":    {looks(60*second, 'L') + looks(11*second, '-'), 1},
		"none, and then a leader":    {looks(11*second, '-') + looks(60*second, 'L'), 1},
		"a leader for a moment only": {looks(11*second, '-') + "L" + looks(11*second, '-'), 2},
	} {
		watch, found := make(leaderWatch), 0
		for _, is := range x.looks {
			if watch.look(7, is == 'L', time.Second/second) {
				found++
			}
			watch.look(8, true, time.Second/second) // shards are counted separately
		}
		if found != x.found {
			t.Errorf("%s: found %d times, want %d", name, found, x.found)
		}
	}
}

// TestALookThatComesLateCountsLittle: after a late look, this process may have stalled instead of the cluster.
func TestALookThatComesLateCountsLittle(t *testing.T) {
	watch := make(leaderWatch)
	for range int(leaderless / mostCounted) {
		if watch.look(1, false, time.Hour) {
			t.Fatal("a few late looks count as ten seconds")
		}
	}
	if !watch.look(1, false, time.Hour) {
		t.Error("many late looks count for nothing")
	}
}

// wiresApart is a trial with five hosts and held messages between the given pairs.
func wiresApart(apart ...[2]int) *trial {
	n := &network{Mesh: &wire.Mesh{}}
	for from := range room {
		n.Hosts = append(n.Hosts, make([]*wire.Wire, room))
		for to := range room {
			if from != to {
				n.Hosts[from][to] = wire.New("")
			}
		}
	}
	for _, pair := range apart {
		n.Hosts[pair[0]][pair[1]].Hold(wire.Forward)
	}
	return &trial{network: n}
}

// TestAMajorityIsOneThatReachesEachOther: only a majority with full connectivity has to elect a leader.
func TestAMajorityIsOneThatReachesEachOther(t *testing.T) {
	for name, x := range map[string]struct {
		voters, living []int
		apart          [][2]int
		want           bool
	}{
		"all live":             {[]int{0, 1, 2}, []int{0, 1, 2}, nil, true},
		"two of three":         {[]int{0, 1, 2}, []int{0, 2}, nil, true},
		"one of three":         {[]int{0, 1, 2}, []int{1}, nil, false},
		"none":                 {[]int{0, 1, 2}, nil, nil, false},
		"the only one":         {[]int{3}, []int{3}, nil, true},
		"one of two":           {[]int{0, 1}, []int{0}, nil, false},
		"learners live":        {[]int{0, 1, 2}, []int{2, 3, 4}, nil, false},
		"two of three, apart":  {[]int{0, 1, 2}, []int{0, 2}, [][2]int{{2, 0}}, false},
		"a third reaches both": {[]int{0, 1, 2}, []int{0, 1, 2}, [][2]int{{0, 1}}, true},
		"all apart": {[]int{0, 1, 2}, []int{0, 1, 2},
			[][2]int{{0, 1}, {1, 2}, {2, 0}}, false},
		"apart from a learner": {[]int{0, 1, 2}, []int{0, 1, 2, 3},
			[][2]int{{0, 3}, {1, 3}, {2, 3}}, true},
		"a voter has left":                            {[]int{-1, 0, 1}, []int{0, 1}, nil, true},
		"two voters have left":                        {[]int{-1, -1, 1}, []int{1}, nil, false},
		"three of five":                               {[]int{0, 1, 2, 3, 4}, []int{1, 3, 4}, nil, true},
		"two of five":                                 {[]int{0, 1, 2, 3, 4}, []int{1, 4}, nil, false},
		"three of five, and two of them apart":        {[]int{0, 1, 2, 3, 4}, []int{1, 3, 4}, [][2]int{{3, 4}}, false},
		"no voter is known":                           {nil, []int{0, 1, 2}, nil, false},
		"two of four":                                 {[]int{0, 1, 2, 3}, []int{0, 1}, nil, false},
		"three of four, all of which are undisturbed": {[]int{0, 1, 2, 3}, []int{0, 1, 2}, nil, true},
	} {
		if got := wiresApart(x.apart...).hasMajority(x.voters, x.living); got != x.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
