package server_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/server"
)

// TestAStateIsSavedMoreSlowlyWhileTheHostIsBusy: with each command that is applied for the second that follows, and
// never with a pause that goes on and on.
func TestAStateIsSavedMoreSlowlyWhileTheHostIsBusy(t *testing.T) {
	var commands uint64
	pause := server.Pace(func() uint64 { return commands })
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
		want(t, step.what, pause(step.worked, began.Add(step.at)), step.want)
	}
}
