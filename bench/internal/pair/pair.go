// Package pair measures a workload beside its floor, or one build beside another, in turns short enough that both see
// the machine in the same state.
package pair

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// Side is one of the two that take turns.
type Side interface {
	// Turn has the side work for about so long, and returns how many operations ended in the time that was measured,
	// and that time.
	Turn(d time.Duration) (done int64, took time.Duration, err error)
}

// Pair is what an operation of each side took on average in two turns each, which stood next to each other.
type Pair struct{ Below, Above time.Duration }

// Measure gives turns to both sides: below, above, above, below, and again, so many times. What comes second, what
// follows the other side, and what the machine gains or loses steadily are so the same for both.
func Measure(ctx context.Context, pairs int, turn time.Duration, below, above Side) ([]Pair, error) {
	all := make([]Pair, 0, pairs)
	for range pairs {
		var p Pair
		for _, now := range []struct {
			side Side
			sum  *time.Duration
		}{{below, &p.Below}, {above, &p.Above}, {above, &p.Above}, {below, &p.Below}} {
			done, took, err := now.side.Turn(turn)
			if err = cmp.Or(context.Cause(ctx), err); err != nil {
				return nil, err
			}
			// Where nothing was done, the machine stood still: as if one operation had just ended.
			*now.sum += took / time.Duration(max(done, 1)) / 2
		}
		all = append(all, p)
	}
	return all, nil
}

// Quantile is a value of each pair, in order.
type Quantile []float64

// Of returns a value of each pair in order.
func Of(pairs []Pair, value func(Pair) float64) Quantile {
	q := make(Quantile, len(pairs))
	for i, p := range pairs {
		q[i] = value(p)
	}
	slices.Sort(q)
	return q
}

// At returns the value that a share of all are not above.
func (q Quantile) At(share float64) float64 {
	return q[min(max(int(math.Round(share*float64(len(q)-1))), 0), len(q)-1)]
}

// MedianWithin returns bounds that the median of ever so many pairs is within with a probability of 95 %, where pairs
// do not depend on each other.
func (q Quantile) MedianWithin() (least, most float64) {
	off := 0.98 / math.Sqrt(float64(len(q)))
	return q.At(0.5 - off), q.At(0.5 + off)
}
