package raftlogtest

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
)

func TestAGoroutineThatWouldPanicWithTheErrorOfAnEndedProcessEnds(t *testing.T) {
	var d damages
	full := errors.New("wal: write 1.wal: no space left on device")
	d.note(fmt.Errorf("raftlog: no room: %w", full))
	for text, ends := range map[string]bool{full.Error(): true, "wal: write 2.wal: no space left on device": false} {
		done, goesOn := make(chan struct{}), false
		go func() {
			defer close(done)
			slog.New(&d).Error(text, "engine", "dragonboat")
			goesOn = true
		}()
		if <-done; goesOn == ends {
			t.Errorf("%q: goes on: %v", text, goesOn)
		}
	}
}
