package results

import (
	"math"
	"slices"
)

// Spread is the spread of a value over several rounds.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf returns the median and the bounds of values; NaN for no values.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + median) / 2
	}
	return Spread{median, sorted[0], sorted[len(sorted)-1]}
}

// Ratio is how two series compare.
type Ratio struct {
	// OfMedians is the decisive ratio.
	OfMedians float64 `json:"of_medians"`
	// Low and High bound the ratios in rounds that both sides completed.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// RatioOf compares two series by round. ok is false without a common round, or if the divisor is zero.
func RatioOf(ours, theirs map[int]float64) (Ratio, bool) {
	var ratios []float64
	for round, value := range ours {
		if other, both := theirs[round]; both && other != 0 {
			ratios = append(ratios, value/other)
		}
	}
	below := SpreadOf(values(theirs)).Median
	if len(ratios) == 0 || below == 0 {
		return Ratio{}, false
	}
	each := SpreadOf(ratios)
	return Ratio{SpreadOf(values(ours)).Median / below, each.Min, each.Max}, true
}

func values(rounds map[int]float64) []float64 {
	all := make([]float64, 0, len(rounds))
	for _, v := range rounds {
		all = append(all, v)
	}
	return all
}
