package memlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

func TestConfigThatMakesNoSenseIsRefused(t *testing.T) {
	one := []shard.HostID{1}
	for name, cfg := range map[string]memlog.Config{
		"no hosts":       {},
		"host zero":      {Hosts: []shard.HostID{0}},
		"host twice":     {Hosts: []shard.HostID{1, 1}},
		"too many hosts": {Hosts: make([]shard.HostID, memlog.MaxHosts+1)},
		"heartbeat":      {Hosts: one, ElectionTimeout: time.Second, Heartbeat: time.Second},
		"probability":    {Hosts: one, LateOutcome: 1.1},
		"delay":          {Hosts: one, Disk: memlog.Between(2, 1)},
		"loss":           {Hosts: one, Path: memlog.Path{Loss: 1}},
		"bound":          {Hosts: one, MaxInFlight: -1},
	} {
		if _, err := memlog.NewNetwork(cfg); !errors.Is(err, memlog.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (memlog.Config{Hosts: one}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestFaultsOfAHostHitAllItsGroups(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	other := map[shard.HostID]*recorder{}
	var leader *memlog.Log
	for h := shard.HostID(1); h <= 3; h++ {
		other[h] = newRecorder(t)
		l, err := c.net.Open(h, 8, other[h])
		if err != nil {
			t.Fatal(err)
		}
		if h == 1 {
			leader = l
		}
	}
	c.led(1)
	c.net.Advance(time.Second)
	c.net.Pause(3)
	if err := leader.Propose([]byte("other"), func(shard.Outcome) {}); err != nil {
		t.Fatal(err)
	}
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	c.net.Advance(time.Second)
	if !other[2].holds("other") || other[3].holds("other") || c.machines[3].holds("a") || other[1].holds("a") {
		t.Error("the pause hit the wrong replicas, or groups share entries")
	}
	c.net.Pause(1)
	c.net.Resume(3)
	c.until("both groups have a new leader", func() bool {
		return c.group.Leader().Term > 1 && c.net.Group(8).Leader().Term > 1
	})
}

func TestGroupHasReplicasOnItsMembersOnly(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	g, err := c.net.NewGroup(9, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	if g.ID() != 9 || c.net.Group(9) != g {
		t.Error("the group is not found by its id")
	}
	for _, h := range []shard.HostID{2, 3} {
		if _, err := c.net.Open(h, 9, newRecorder(t)); err != nil {
			t.Fatal(err)
		}
	}
	c.net.Advance(0)
	if l := g.Leader(); l.Leader != 3 {
		t.Errorf("the first of its members does not lead: %v", l)
	}
	if _, err := c.net.Open(1, 9, newRecorder(t)); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("on a host that is no member: %v", err)
	}
}

func TestOpeningSaysWhatIsWrong(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 1)
	if _, err := c.net.Open(1, theGroup, newRecorder(t)); !errors.Is(err, memlog.ErrOpen) ||
		!strings.Contains(err.Error(), "group 7 on host 1") {
		t.Errorf("twice: %v", err)
	}
	if _, err := c.net.Open(5, theGroup, newRecorder(t)); !errors.Is(err, memlog.ErrUnknownHost) {
		t.Errorf("on no host: %v", err)
	}
	if _, err := c.net.NewGroup(theGroup, 1); !errors.Is(err, memlog.ErrGroupExists) {
		t.Errorf("a group that is there: %v", err)
	}
	if _, err := c.net.NewGroup(11, 5); !errors.Is(err, memlog.ErrUnknownHost) {
		t.Errorf("a group on no host: %v", err)
	}
}

func TestCutWorksOneWay(t *testing.T) {
	c := newCluster(t, memlog.Config{ProposalTimeout: 100 * time.Millisecond}, 2)
	c.led(1)
	c.net.Advance(time.Second)
	c.net.Cut(2, 1)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeUnknown)
	if s := c.status(2); s.Last != c.status(1).Last {
		t.Error("the batch did not arrive: the wrong direction is cut")
	}
	c.net.Heal(2, 1)
	c.wantApplied(1, "a")
}

func TestSteppingFromACallbackIsTheTestsMistake(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 1)
	panicked := false
	c.net.AfterFunc(0, 0, func() {
		defer func() { panicked = recover() != nil }()
		c.net.Step()
	})
	c.net.Advance(0)
	if !panicked {
		t.Error("no panic")
	}
}

func TestCallbackThatRepeatsItselfAtOnceIsReported(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 1)
	var again func()
	again = func() { c.net.AfterFunc(0, 0, again) }
	again()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "time stands still") {
			t.Errorf("recovered %q", text)
		}
	}()
	c.net.Advance(time.Second)
}

func TestStatusIsDrawnForPeople(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 2)
	c.led(1)
	c.net.Pause(2)
	text := c.group.String()
	for _, want := range []string{"group 7: term 1", "host 1 leads", "host 2 follows, stopped"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	r := memlog.Record{At: time.Second, Kind: memlog.RecordElected, Group: 7, Host: 1, Term: 3}
	if got, want := r.String(), "1s           elected        group=7 host=1 term=3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
