//go:build linux || darwin || freebsd

package transport

import (
	"context"
	"testing"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// TestALoopWithoutConnectionsIsLeftInPeace: an idle loop is not woken for rounds, and its first connection after a long
// time must not look like a stall.
func TestALoopWithoutConnectionsIsLeftInPeace(t *testing.T) {
	events := &wokenLoop{woken: make(chan gnet.Runnable, 10)}
	loop := newGnetLoop(events)
	defer loop.seal()
	if loop.rounder.Stop() {
		t.Error("a loop that never had a connection is to come round")
	}
	loop.rounds.last.Store(1) // when the test began, or long ago
	loop.enter()
	loop.enter()
	entered, stood := loop.rounds.Latest()
	if stood != 0 || !entered.After(epoch.Add(1)) {
		t.Errorf("with its first connection the loop came round at %v and had stood still for %v", entered, stood)
	}
	if err := (<-events.woken).Run(context.Background()); err != nil { // the round after roundEvery
		t.Fatal(err)
	}
	if last, _ := loop.rounds.Latest(); !last.After(entered) {
		t.Error("a loop with connections does not come round")
	}
	loop.leave()
	if err := (<-events.woken).Run(context.Background()); err != nil {
		t.Fatal("a loop with one connection left does not come round")
	}
	loop.leave()
	last, _ := loop.rounds.Latest()
	if err := (<-events.woken).Run(context.Background()); err != nil { // requested before
		t.Fatal(err)
	}
	if now, _ := loop.rounds.Latest(); now != last || loop.rounder.Stop() {
		t.Error("a loop that has lost its connections is to come round")
	}
	time.Sleep(time.Millisecond) // so that the monotonic clock has advanced
	loop.enter()
	if now, stood := loop.rounds.Latest(); !now.After(last) || stood != 0 {
		t.Errorf("with a connection again it stood still for %v, and last came round at %v", stood, now)
	}
}
