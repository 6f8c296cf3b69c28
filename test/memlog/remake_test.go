package memlog_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// TestAGroupIsMadeAnewOfAState: a rebuilt group continues from the given state with one replica, and a second replica
// can join.
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

// TestAGroupThatLostItsMajorityIsMadeAnew: a group that lost its majority is rebuilt from the survivor's log while the
// remaining old replicas are down. Terms of the new group are higher, so old replicas have no influence when they
// return.
func TestAGroupThatLostItsMajorityIsMadeAnew(t *testing.T) {
	c := newGroup(t, memlog.Config{}, 3, 1)
	c.led(1)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	c.net.Isolate(1)
	c.propose(1, "b") // no majority has it
	c.net.Advance(time.Second)
	before := c.group.Leader().Term
	if term, index := c.logs[1].Last(); term == 0 || index < 2 {
		t.Errorf("the survivor has entry %d of term %d", index, term)
	}
	if err := c.net.Regroup(theGroup, 1, 70, 1, nil); !errors.Is(err, memlog.ErrOpen) {
		t.Errorf("while the log is open: %v", err)
	}
	if err := c.logs[1].Close(); err != nil {
		t.Fatal(err)
	}
	salvaged := newRecorder(t)
	if err := c.net.Salvage(theGroup, 1, salvaged); err != nil {
		t.Fatal(err)
	}
	s, err := salvaged.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	var state bytes.Buffer
	if err := s.Save(&state, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.net.Regroup(theGroup, 1, 70, 1, state.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	c.group = c.net.Group(theGroup)
	c.join(1, 70)
	c.led(1)
	c.wantApplied(1, "a", "b")
	if term := c.group.Leader().Term; term <= 1<<shard.GroupTermBits || before >= term {
		t.Errorf("the new group has term %d, the group before had %d", term, before)
	}
	c.net.HealAll()
	c.wantOutcome(c.propose(1, "c"), shard.OutcomeApplied)
	c.wantApplied(1, "a", "b", "c")
}
