package object

import (
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestListsOfShardsBecomeOneInTheOrderOfNames for any distribution of names over shards.
func TestListsOfShardsBecomeOneInTheOrderOfNames(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		shards := make([][]string, 1+random.IntN(5))
		var want []string
		for range random.IntN(40) {
			name, shard := strconv.Itoa(len(want)+1000*random.IntN(9)), random.IntN(len(shards))
			want, shards[shard] = append(want, name), append(shards[shard], name)
		}
		slices.Sort(want)
		var got []string
		for s, err := range merge(shardLists(t, shards, nil), strings.Clone) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}

// TestAListEndsWithTheErrorOfAShard: other shards' entries must not look like a complete list.
func TestAListEndsWithTheErrorOfAShard(t *testing.T) {
	cut := errors.New("cut off")
	var names []string
	var last error
	for s, err := range merge(shardLists(t, [][]string{{"a", "d"}, {"b"}}, cut), strings.Clone) {
		if last = err; err == nil {
			names = append(names, s)
		}
	}
	if !slices.Equal(names, []string{"a", "b"}) || last != cut {
		t.Errorf("got %v, %v", names, last)
	}
}

// shardLists are the shards' lists; the last list ends with an error, if not nil.
func shardLists(t *testing.T, shards [][]string, last error) (lists []*shardList[string]) {
	for i, names := range shards {
		slices.Sort(names)
		var all iter.Seq2[string, error] = func(yield func(string, error) bool) {
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
			}
			if last != nil && i == len(shards)-1 {
				yield("", last)
			}
		}
		l := newShardList(all)
		t.Cleanup(l.stop)
		lists = append(lists, l)
	}
	return lists
}
