package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// naiveOwners is the simple model of Owners.
type naiveOwners map[uint64]Owner

func (n naiveOwners) list() []Owner {
	var list []Owner
	for _, o := range n {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Owner) int { return int(a.OrderID) - int(b.OrderID) })
	return list
}

func sameOwners(a, b []Owner) bool {
	return slices.EqualFunc(a, b, func(x, y Owner) bool { return x.equal(&y) })
}

func TestOwnersAreThoseOfTheNaiveList(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		naive := make(naiveOwners)
		r := listOf[Owner](nil)
		last := uint64(0)
		for step := range 200 {
			before, was := r, naive.list()
			var gone []uint64
			var joined []Owner
			for range random.IntN(1 << random.IntN(9)) {
				switch {
				case random.IntN(3) > 0 || len(naive) == 0:
					last += uint64(1 + random.IntN(3))
					joined = append(joined, Owner{OrderID: last, Count: 1})
				case random.IntN(2) == 0:
					order := 1 + random.Uint64N(last+2)
					joined = append(joined, Owner{OrderID: order, Count: 2, Data: []byte(fmt.Sprint(step))})
				default:
					gone = append(gone, 1+random.Uint64N(last+2))
				}
			}
			if random.IntN(20) == 0 { // nearly everybody goes
				for order := range naive {
					if random.IntN(20) > 0 {
						gone = append(gone, order)
					}
				}
			}
			r = r.with(gone, joined)
			for _, order := range gone {
				delete(naive, order)
			}
			for _, o := range joined {
				naive[o.OrderID] = o
			}
			want := naive.list()
			if got := slices.Collect(r.All()); !sameOwners(got, want) || r.count != len(want) {
				t.Fatalf("seed %d, step %d: %d owners, want %d", seed, step, r.count, len(want))
			}
			if got := slices.Collect(before.All()); !sameOwners(got, was) {
				t.Fatalf("seed %d, step %d: the list before has changed", seed, step)
			}
			checkDifference(t, before, r, was, want)
			checkPieces(t, r)
			if order := random.Uint64N(last + 3); true {
				got, ok := r.Find(order)
				if want, known := naive[order]; ok != known || !got.equal(&want) {
					t.Fatalf("found %v, %v of %d", got, ok, order)
				}
			}
		}
	}
}

func checkDifference(t *testing.T, a, b Owners, was, is []Owner) {
	t.Helper()
	left := make(naiveOwners)
	for _, o := range was {
		left[o.OrderID] = o
	}
	Difference(a, b, func(before, after *Owner) {
		switch {
		case before == nil:
			if _, ok := left[after.OrderID]; ok {
				t.Fatalf("%d has joined, and was there", after.OrderID)
			}
			left[after.OrderID] = *after
		case after == nil:
			if _, ok := left[before.OrderID]; !ok {
				t.Fatalf("%d has gone, and was not there", before.OrderID)
			}
			delete(left, before.OrderID)
		default:
			if before.equal(after) || before.OrderID != after.OrderID {
				t.Fatalf("%v has changed to %v", before, after)
			}
			left[after.OrderID] = *after
		}
	})
	if !sameOwners(left.list(), is) {
		t.Fatal("the difference does not lead from one to the other")
	}
}

func checkPieces(t *testing.T, r Owners) {
	t.Helper()
	for i, p := range r.pieces {
		if len(p.list) == 0 || len(p.list) > maxPiece {
			t.Fatalf("a piece of %d", len(p.list))
		}
		if i > 0 && len(p.list)+len(r.pieces[i-1].list) <= maxPiece/4 {
			t.Fatalf("neighbours of %d and %d", len(r.pieces[i-1].list), len(p.list))
		}
	}
}

func TestAChangeOfOneOwnerCopiesOnePiece(t *testing.T) {
	var owners []Owner
	for i := range 20_000 {
		owners = append(owners, Owner{OrderID: uint64(i + 1), Count: 1})
	}
	a := listOf[Owner](owners)
	b := a.with([]uint64{9000}, []Owner{{OrderID: 9001, Count: 2}})
	other := 0
	for _, p := range b.pieces {
		if !slices.Contains(a.pieces, p) {
			other++
		}
	}
	if other != 1 {
		t.Errorf("%d pieces are not shared", other)
	}
	compared := 0
	Difference(a, b, func(*Owner, *Owner) { compared++ })
	if compared != 2 {
		t.Errorf("%d differences", compared)
	}
}
