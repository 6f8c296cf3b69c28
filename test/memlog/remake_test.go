package memlog_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// TestAGroupIsMadeAnewOfAState: it goes on from the state with one replica, which another one can join.
func TestAGroupIsMadeAnewOfAState(t *testing.T) {
	c := newGroup(t, memlog.Config{}, 3, 1)
	c.led(1)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	s, err := c.machines[1].PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	var state bytes.Buffer
	if err := s.Save(&state, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.net.Remake(theGroup, 2, 70, state.Bytes()); !errors.Is(err, memlog.ErrOpen) {
		t.Errorf("while a log is open: %v", err)
	}
	if err := c.logs[1].Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.net.Remake(theGroup, 9, 70, state.Bytes()); !errors.Is(err, memlog.ErrUnknownHost) {
		t.Errorf("on a host that is none: %v", err)
	}
	if err := c.net.Remake(theGroup, 2, 70, state.Bytes()); err != nil {
		t.Fatal(err)
	}
	c.group = c.net.Group(theGroup)
	c.join(2, 70)
	c.led(2)
	c.wantOutcome(c.propose(2, "b"), shard.OutcomeApplied)
	c.wantApplied(2, "a", "b")
	c.join(3, 71)
	c.must(c.change(2, memlog.ChangeAdd, 71, 3))
	c.wantApplied(3, "a", "b")
	if n := c.machines[3].restores; n != 1 {
		t.Errorf("who comes later gets %d snapshots", n)
	}
	c.net.Kill(2)
	c.net.Restart(2)
	c.join(2, 70)
	c.led(2)
	c.wantApplied(2, "a", "b")
}
