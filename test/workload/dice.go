package workload

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pick draws one of the values.
func Pick[T any](dice *rand.Rand, values ...T) T { return values[dice.IntN(len(values))] }

// UpTo draws a time that is not zero.
func UpTo(dice *rand.Rand, most time.Duration) time.Duration {
	return 1 + time.Duration(dice.Int64N(int64(most)))
}

// Sleep waits, and tells whether it could to the end.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
