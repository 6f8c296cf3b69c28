//go:build unix

package child

import (
	"testing"
	"time"
)

// busy simulates the clocks of a machine that delays this process after some readings.
type busy struct {
	awake, slept time.Duration
	waits        []time.Duration
}

func (b *busy) wait() {
	if len(b.waits) > 0 {
		b.awake += b.waits[0]
		b.waits = b.waits[1:]
	}
}

func (b *busy) now() moment {
	return nowBy(
		func() time.Duration { defer b.wait(); return b.awake },
		func(time.Duration) time.Duration { defer b.wait(); return b.awake + b.slept },
	)
}

func TestWhoWaitsForAProcessorBetweenTwoReadingsHasNotSlept(t *testing.T) {
	const long = time.Second
	always := make([]time.Duration, 4*readings)
	for i := range always {
		always[i] = long
	}
	for what, waits := range map[string][2][]time.Duration{
		"never":                      {},
		"before the other clock":     {nil, {long}},
		"after the other clock":      {nil, {0, long}},
		"the first time, before it":  {{long}, nil},
		"the first time, after it":   {{0, long}, nil},
		"the first time, for always": {always, nil},
		"for always":                 {nil, always},
	} {
		for _, slept := range []time.Duration{0, time.Minute} {
			b := busy{waits: waits[0]}
			first := b.now()
			b.slept, b.waits = slept, waits[1]
			second := b.now()
			got := first.slept(second)
			// So busy a machine hides a sleep of a few seconds.
			if least := slept - closeEnough - 2*long; got > slept || got < least {
				t.Errorf("%s: it slept for %v, and is said to have for %v", what, slept, got)
			}
		}
	}
}
