package twin

import "math/rand/v2"

// dice draws numbers. Equal seeds draw equal numbers.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x7369676e616c626f))} }

// chance is true in so many of a thousand cases.
func (d dice) chance(perMille int) bool { return d.IntN(1000) < perMille }

// between draws from low to high, both included.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

// weighted draws an index; each is as likely as its weight says.
func (d dice) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := d.IntN(sum)
	for i, w := range weights {
		if n < w {
			return i
		}
		n -= w
	}
	panic("twin: weights do not add up")
}

// oneOf draws one of the elements.
func oneOf[T any](d dice, list []T) T { return list[d.IntN(len(list))] }
