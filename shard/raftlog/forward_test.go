package raftlog

import (
	"errors"
	"slices"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

func TestABatchIsForwardedToTheLeader(t *testing.T) {
	all, leader := openThree(t, nil)
	want := leader.mustPropose(0, 1)
	for _, m := range all {
		batch := "forwarded by " + m.config.DataDir
		if err := m.log.Forward([]byte(batch)); err != nil {
			t.Fatal(err)
		}
		want = append(want, batch)
		for _, n := range all {
			n.machine.awaitBatches(t, want)
		}
	}
}

func TestForwardsBeyondTheBoundsAreBusy(t *testing.T) {
	one := openOne(t, func(c *Config) { c.MaxInFlight = 3 })
	release, applying := one.machine.holdNextApply()
	want := []string{"1", "2", "3"}
	for i, batch := range want {
		if err := one.log.Forward([]byte(batch)); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-applying
		}
	}
	if err := one.log.Forward([]byte("4")); !errors.Is(err, shard.ErrLogBusy) {
		t.Errorf("got %v, want ErrLogBusy", err)
	}
	close(release)
	one.machine.awaitBatches(t, want)
	eventually(t, "room", func() bool { return one.log.Forward([]byte("5")) == nil })
	one.machine.awaitBatches(t, append(want, "5"))
}

func TestOnlyForwardedBatchesPassBetweenHosts(t *testing.T) {
	stray := raftpb.Entry{Type: raftpb.EncodedEntry, ClientID: 123456789, Cmd: []byte("stray")}
	meant := raftpb.Entry{Type: raftpb.EncodedEntry, ClientID: forwarderID, Cmd: []byte("forwarded")}
	change := raftpb.Entry{Type: raftpb.ConfigChangeEntry} // is proposed where the leader is
	committed := raftpb.Message{Type: raftpb.Replicate, Entries: []raftpb.Entry{stray, meant, change}}
	given := []raftpb.Message{
		{Type: raftpb.Heartbeat},
		{Type: raftpb.Propose, Entries: []raftpb.Entry{stray}},
		committed,
		{Type: raftpb.Propose, Entries: []raftpb.Entry{stray, meant, stray, change}},
	}
	if i := slices.IndexFunc(given, hasStrayBatch); i != 1 {
		t.Errorf("the first message with a stray batch is %d, want 1", i)
	}
	kept := withoutStrayBatches(given)
	if len(kept) != 3 || kept[0].Type != raftpb.Heartbeat || len(kept[1].Entries) != 3 {
		t.Fatalf("kept %v", kept)
	}
	if e := kept[2].Entries; len(e) != 1 || string(e[0].Cmd) != "forwarded" {
		t.Errorf("kept %v of a mixed message", e)
	}
	if string(given[3].Entries[0].Cmd) != "stray" || len(given[3].Entries) != 4 {
		t.Error("the given messages were changed")
	}
}
