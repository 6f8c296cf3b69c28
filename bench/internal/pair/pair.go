// Package pair measures a workload beside its floor, or one build beside another, in turns so short that both see the
// machine in the same state.
package pair

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// Side is one side of a pair that takes turns.
type Side interface {
	// Turn lets the side work for about d, and returns the number of operations in the measured time, and the measured
	// time.
	Turn(d time.Duration) (done int64, took time.Duration, err error)
}

// Pair is each side's average operation time, from two adjacent turns each.
type Pair struct{ Below, Above time.Duration }

// Measure gives turns to both sides: below, above, above, below, and repeats. So the order, the other side's effects
// and the machine's steady drift affect both sides equally.
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
			// Without any operation the machine was stalled: count as if one operation had just ended.
			*now.sum += took / time.Duration(max(done, 1)) / 2
		}
		all = append(all, p)
	}
	return all, nil
}

// Quantile is a sorted list with a value per pair.
type Quantile []float64

// Of returns a sorted value per pair.
func Of(pairs []Pair, value func(Pair) float64) Quantile {
	q := make(Quantile, len(pairs))
	for i, p := range pairs {
		q[i] = value(p)
	}
	slices.Sort(q)
	return q
}

// At returns the smallest value not exceeded by the given share of values.
func (q Quantile) At(share float64) float64 {
	return q[min(max(int(math.Round(share*float64(len(q)-1))), 0), len(q)-1)]
}

// MedianWithin returns bounds that contain the true median with a probability of 95 %, if pairs are independent.
func (q Quantile) MedianWithin() (least, most float64) {
	off := 0.98 / math.Sqrt(float64(len(q)))
	return q.At(0.5 - off), q.At(0.5 + off)
}
