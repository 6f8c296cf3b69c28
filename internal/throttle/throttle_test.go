package throttle

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWorkPausesLongerWhileTheHostIsBusy: each applied command lengthens the pause for the following second, and pauses
// are bounded.
func TestWorkPausesLongerWhileTheHostIsBusy(t *testing.T) {
	var commands uint64
	p := New(func() uint64 { return commands }, nil)
	began := time.Now()
	for _, step := range []struct {
		what             string
		commands         uint64
		at, worked, want time.Duration
	}{
		{"idle", 0, 0, time.Millisecond, 3 * time.Millisecond},
		{"a command", 1, 0, time.Millisecond, 39 * time.Millisecond},
		{"no further one", 1, 999 * time.Millisecond, time.Millisecond, 39 * time.Millisecond},
		{"a second later", 1, time.Second, time.Millisecond, 3 * time.Millisecond},
		{"further commands", 9, 2 * time.Second, 2 * time.Millisecond, 78 * time.Millisecond},
		{"it waited for a processor", 9, 2 * time.Second, time.Minute, 100 * time.Millisecond},
		{"little work", 9, 2 * time.Second, 400 * time.Microsecond, 0},
		{"more of it", 9, 2 * time.Second, 100 * time.Microsecond, 19500 * time.Microsecond},
		{"no work", 9, 2 * time.Second, 0, 0},
	} {
		commands = step.commands
		if got := p.after(step.worked, began.Add(step.at)); got != step.want {
			t.Errorf("%s: %v, want %v", step.what, got, step.want)
		}
	}
}

// TestWorkThatMustHurryDoesNotPause: and pauses again when the hurry is over. Work can be stopped in both states.
func TestWorkThatMustHurryDoesNotPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		close(stopped)
		for hurry, want := range map[bool]time.Duration{true: 0, false: maxPause} {
			p := New(func() uint64 { return 0 }, func() bool { return hurry })
			p.Work()
			time.Sleep(time.Second)
			ended := time.Now()
			if !p.Pause(nil) || time.Since(ended) != want {
				t.Errorf("hurry %t: it pauses for %v, want %v", hurry, time.Since(ended), want)
			}
			if ended = time.Now(); p.Pause(stopped) || time.Since(ended) != 0 {
				t.Errorf("hurry %t: it is not stopped", hurry)
			}
		}
	})
}
