package hosts

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

func TestAnOlderDirectoryIsRefused(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.Boot(f.at(), bootOf(2, "b", 5)))
	for number, want := range map[uint64]protocol.Status{
		0: protocol.StatusBadRequest, 4: protocol.StatusPreconditionFailed, 5: protocol.StatusSuccess,
	} {
		if a := f.Boot(f.at(), bootOf(2, "b", number)); a.Status != want {
			t.Errorf("start %d: %s, %s", number, a.Status, a.Text)
		}
	}
	twin := bootOf(2, "b", 5)
	twin.Start.Draw++
	f.refused(protocol.StatusPreconditionFailed, "older copy", func() Answer { return f.Boot(f.at(), twin) })
	f.existed(f.Shutdown(f.at(), 2, incarnation(2), twin.Start)) // for an unrecorded start
	f.refused(protocol.StatusStale, "start 5", func() Answer {
		return f.Rename(f.at(), 2, incarnation(2), twin.Start, addresses("x"))
	})
	moved := bootOf(2, "b", 5)
	moved.Addresses = addresses("x")
	f.refused(protocol.StatusPreconditionFailed, "--replace b", func() Answer { return f.Boot(f.at(), moved) })
	other := bootOf(2, "b", 6)
	other.Incarnation = incarnation(9)
	f.refused(protocol.StatusPreconditionFailed, "--replace b", func() Answer { return f.Boot(f.at(), other) })
	f.refused(protocol.StatusNotFound, "no host 9", func() Answer { return f.Boot(f.at(), bootOf(9, "x", 1)) })
	newer := bootOf(2, "b", 6)
	newer.Version = "1.6.0"
	f.refused(protocol.StatusPreconditionFailed, "minor", func() Answer { return f.Boot(f.at(), newer) })
	newer.Version, newer.Level = "1.5.0", 0
	f.refused(protocol.StatusPreconditionFailed, "feature level", func() Answer { return f.Boot(f.at(), newer) })
	newer.Level, newer.Addresses = bootOf(1, "", 1).Level, addresses("a")
	f.refused(protocol.StatusPreconditionFailed, "different addresses", func() Answer {
		return f.Boot(f.at(), newer)
	})
}

// TestAHostThatIsToBeExpelledServesUntilItHasNoReplica: its vote may be needed for the membership without it.
func TestAHostThatIsToBeExpelledServesUntilItHasNoReplica(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.Expel(f.at(), "b", true, 0))
	again := bootOf(2, "b", 2)
	again.Addresses = addresses("x")
	target := f.Host(2).Target
	f.done(f.Boot(f.at(), again))
	f.existed(f.Boot(f.at(), again))
	if h := f.Host(2); h.Target != target || h.Start != again.Start || h.Addresses != again.Addresses {
		t.Errorf("after the start: %+v", h)
	}
	f.refused(protocol.StatusPreconditionFailed, "older copy", func() Answer {
		return f.Boot(f.at(), bootOf(2, "b", 1))
	})
	other := bootOf(2, "b", 3)
	other.Incarnation = incarnation(9)
	f.refused(protocol.StatusPreconditionFailed, "--replace b", func() Answer { return f.Boot(f.at(), other) })
	taken := again
	taken.Addresses = addresses("a")
	f.refused(protocol.StatusPreconditionFailed, "was expelled", func() Answer { return f.Boot(f.at(), taken) })
	f.done(f.known(0, 1, []uint64{1, 3}, nil))
	f.existed(f.Boot(f.at(), again)) // it votes in shard 1
	f.done(f.known(1, 1, []uint64{1, 3}, nil))
	f.refused(protocol.StatusPreconditionFailed, "was expelled", func() Answer { return f.Boot(f.at(), again) })
}

// TestARestartThatWasNotNoticedIsAStep: the target stays Online with a new epoch, so that the current state follows.
func TestARestartThatWasNotNoticedIsAStep(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	moved := bootOf(2, "b", 2)
	moved.Addresses = addresses("x")
	f.done(f.Boot(f.at(), moved))
	if h := f.Named("b"); h.Online() || !h.Wanted() || h.Addresses != addresses("x") {
		t.Errorf("after the restart: %+v", h)
	}
	f.refused(protocol.StatusStale, "by now", func() Answer { return f.Reach(f.at(), 7, 2, protocol.HostOnline, 2) })
	f.refused(protocol.StatusStale, "term 6", func() Answer { return f.Reach(f.at(), 6, 2, protocol.HostOnline, 3) })
	f.done(f.Reach(f.at(), 7, 2, protocol.HostOnline, 3))
	f.existed(f.Reach(f.at(), 7, 2, protocol.HostOnline, 3))
}

// TestAHostOfBeforeGetsItsIncarnationOnce: if it was recorded without one.
func TestAHostOfBeforeGetsItsIncarnationOnce(t *testing.T) {
	f := &fixture{T: t, Records: New("c", []ShardID{1}), now: 5}
	f.done(f.Bootstrap(f.at(), []InitialMember{{ID: 1, Name: "a", Addresses: addresses("a")}}))
	f.done(f.Boot(f.at(), bootOf(1, "a", 1)))
	b := bootOf(1, "a", 2)
	b.Incarnation = incarnation(9)
	f.refused(protocol.StatusPreconditionFailed, "a different data directory", func() Answer {
		return f.Boot(f.at(), b)
	})
}

// TestAShortIncarnationIsNotLoaded: only the exact written form is accepted.
func TestAShortIncarnationIsNotLoaded(t *testing.T) {
	f := newFixture(t, "a")
	saved, whole := f.Save(nil), incarnation(1)
	i := bytes.Index(saved, append([]byte{byte(len(whole))}, whole[:]...))
	if i < 0 {
		t.Fatal("the saved bytes have no incarnation")
	}
	if _, err := Load(slices.Concat(saved[:i], []byte{byte(len(whole) - 1)}, saved[i+2:])); err == nil ||
		!strings.Contains(err.Error(), "15 bytes stand for 16") {
		t.Error(err)
	}
}

// TestNoTwoHostsHaveOneIncarnation: neither at the bootstrap, nor if a record takes that of the first boot.
func TestNoTwoHostsHaveOneIncarnation(t *testing.T) {
	f := &fixture{T: t, Records: New("c", []ShardID{1}), now: 5}
	initialMembers := []InitialMember{{ID: 1, Name: "a", Incarnation: incarnation(1), Addresses: addresses("a")},
		{ID: 2, Name: "b", Incarnation: incarnation(1), Addresses: addresses("b")}}
	f.refused(protocol.StatusBadRequest, "incarnation", func() Answer { return f.Bootstrap(f.at(), initialMembers) })
	initialMembers[1].Incarnation = Incarnation{}
	f.done(f.Bootstrap(f.at(), initialMembers))
	copied := bootOf(2, "b", 1)
	copied.Incarnation = incarnation(1)
	f.refused(protocol.StatusPreconditionFailed, "belongs to host a", func() Answer {
		return f.Boot(f.at(), copied)
	})
	f.done(f.Boot(f.at(), bootOf(2, "b", 1)))
}

func TestAFailedHostReturnsLaterEachTime(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	for n, wait := range []uint64{300, 600, 1200} {
		epoch := f.Named("b").Target.Epoch
		f.done(f.Failed(f.at(), 7, 2, epoch, ReasonSilent, "nothing was heard"))
		f.existed(f.Failed(f.at(), 7, 2, epoch, ReasonSilent, "nothing was heard"))
		f.now += wait
		f.refused(protocol.StatusPreconditionFailed, "in 1 ms", func() Answer {
			return f.Return(f.at(), 2, incarnation(2), epoch)
		})
		f.now++
		f.done(f.Return(f.at(), 2, incarnation(2), epoch))
		f.existed(f.Return(f.at(), 2, incarnation(2), epoch))
		f.existed(f.Failed(f.at(), 7, 2, epoch, ReasonSilent, "late"))
		if h := f.Named("b"); h.Failures != uint64(n+1) || h.Target.Reason != ReasonReturned {
			t.Fatalf("after failure %d: %+v", n+1, h)
		}
	}
	f.now += HealthyMillis + 1
	f.done(f.Failed(f.at(), 7, 2, f.Named("b").Target.Epoch, ReasonStuck, ""))
	if h := f.Named("b"); h.Failures != 1 || h.ReturnAfter != f.now+301 {
		t.Errorf("after a long time of health: %+v", h)
	}
	f.refused(protocol.StatusStale, "term 8", func() Answer { return f.Failed(f.at(), 8, 1, 2, ReasonSilent, "") })
	f.refused(protocol.StatusBadRequest, "silent", func() Answer {
		return f.Failed(f.at(), 7, 1, 2, ReasonDrained, "")
	})
	if returnDelay(15) != 300<<11 && returnDelay(15) != maxReturnMillis || returnDelay(1<<40) != maxReturnMillis {
		t.Error("the back-off has no bound")
	}
}

func TestWhatStopsAndDrains(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.Drain(f.at(), "b"))
	f.existed(f.Drain(f.at(), "2"))
	f.existed(f.Shutdown(f.at(), 2, incarnation(2), start(1)))
	f.refused(protocol.StatusPreconditionFailed, "would leave 1 of 3 voters of shard 0", func() Answer {
		return f.Drain(f.at(), "c")
	})
	f.refused(protocol.StatusPreconditionFailed, "on purpose: drained", func() Answer {
		return f.Return(f.at(), 2, incarnation(2), 2)
	})
	f.done(f.Shutdown(f.at(), 3, incarnation(3), start(1))) // stopping hosts are not held offline
	f.refused(protocol.StatusPreconditionFailed, "not drained", func() Answer { return f.Undrain(f.at(), "c") })
	f.done(f.Undrain(f.at(), "b"))
	f.existed(f.Undrain(f.at(), "b"))
	if h := f.Named("b"); h.Online() || !h.Wanted() {
		t.Errorf("after the drain was taken back: %+v", h)
	}
}

// TestAFailedHostIsDrained: it does not return by itself.
func TestAFailedHostIsDrained(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.Failed(f.at(), 7, 2, 2, ReasonSilent, ""))
	f.done(f.Drain(f.at(), "b"))
	f.existed(f.Drain(f.at(), "b"))
	f.now += 1000
	f.refused(protocol.StatusPreconditionFailed, "on purpose: drained", func() Answer {
		return f.Return(f.at(), 2, incarnation(2), 2)
	})
	f.done(f.Boot(f.at(), bootOf(2, "b", 2)))
	if !f.Named("b").Wanted() {
		t.Error("a start does not end a drain")
	}
}

func TestCordonAlterRename(t *testing.T) {
	f := newFixture(t, "a", "b")
	f.done(f.Cordon(f.at(), "a", true))
	f.existed(f.Cordon(f.at(), "a", true))
	f.done(f.Cordon(f.at(), "a", false))
	f.done(f.Alter(f.at(), "a", Domain{{Key: "dc", Value: "x"}}))
	f.existed(f.Alter(f.at(), "a", Domain{{Key: "dc", Value: "x"}}))
	f.refused(protocol.StatusPreconditionFailed, "key dc", func() Answer {
		return f.Alter(f.at(), "b", Domain{{Key: "rack", Value: "1"}})
	})
	f.refused(protocol.StatusNotFound, `"x"`, func() Answer { return f.Cordon(f.at(), "x", true) })
	f.done(f.Rename(f.at(), 1, incarnation(1), start(1), addresses("x")))
	f.existed(f.Rename(f.at(), 1, incarnation(1), start(1), addresses("x")))
	f.refused(protocol.StatusStale, "start 0", func() Answer {
		return f.Rename(f.at(), 1, incarnation(1), start(0), addresses("y"))
	})
	f.refused(protocol.StatusPreconditionFailed, "different addresses", func() Answer {
		return f.Rename(f.at(), 2, incarnation(2), start(1), addresses("x"))
	})
}

// TestWeightsAndTiers: implausible weights and tiers are refused, and saved records keep both.
func TestWeightsAndTiers(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.done(f.Weigh(f.at(), "a", 0))
	f.existed(f.Weigh(f.at(), "a", 0))
	f.existed(f.Weigh(f.at(), "b", DefaultWeight))
	f.refused(protocol.StatusBadRequest, "1001", func() Answer { return f.Weigh(f.at(), "a", MaxWeight+1) })
	f.refused(protocol.StatusNotFound, `"x"`, func() Answer { return f.Weigh(f.at(), "x", 1) })
	tier := func(label string) Answer {
		from := f.Policy()
		to := from
		to.Tier = label
		return f.SetPolicy(f.at(), from, to)
	}
	f.done(f.Alter(f.at(), "c", Domain{{Key: "role", Value: "control"}}))
	for _, wrong := range []string{"control", "a=b,c=d", "role=", "Role=control"} {
		f.refused(protocol.StatusBadRequest, "tier", func() Answer { return tier(wrong) })
	}
	f.refused(protocol.StatusPreconditionFailed, "no host has the label", func() Answer { return tier("role=other") })
	f.done(tier("role=control"))
	if a, c := f.Named("a"), f.Named("c"); f.Votes(a) || !f.Votes(c) || f.Wanted(Meta) != 1 || f.Wanted(1) != 3 {
		t.Errorf("a votes %t, c votes %t, %d are wanted", f.Votes(a), f.Votes(c), f.Wanted(Meta))
	}
	loaded, err := Load(f.Save(nil))
	if err != nil || loaded.Named("a").Weight() != 0 || loaded.Policy().Tier != "role=control" {
		t.Error(err)
	}
	f.done(f.Drain(f.at(), "c"))
	f.done(f.Expel(f.at(), "c", true, 0))
	if !f.Votes(f.Named("a")) || f.Wanted(Meta) != 1 {
		t.Errorf("no host of the tier is left: %d voters are wanted", f.Wanted(Meta))
	}
}

// TestExpel: an online host needs force, the last host is refused even with force, and a repetition succeeds.
func TestExpel(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	f.refused(protocol.StatusPreconditionFailed, "--force", func() Answer { return f.Expel(f.at(), "c", false, 0) })
	f.done(f.Shutdown(f.at(), 3, incarnation(3), start(1)))
	f.refused(protocol.StatusPreconditionFailed, "--force", func() Answer { return f.Expel(f.at(), "c", false, 0) })
	f.reach("c")
	f.done(f.Expel(f.at(), "c", false, 10_000))
	f.existed(f.Expel(f.at(), "3", false, 10_000))
	f.refused(protocol.StatusPreconditionFailed, "permanently", func() Answer { return f.Drain(f.at(), "3") })
	f.refused(protocol.StatusPreconditionFailed, "has replicas", func() Answer {
		return f.Reach(f.at(), 7, 3, protocol.HostExpelled, f.Host(3).Target.Epoch)
	})
	f.done(f.known(0, 1, []uint64{1, 2}, nil))
	if f.Host(3).Bare != 0 {
		t.Error("it has a replica of shard 1")
	}
	f.now = 2000
	f.done(f.known(1, 1, []uint64{1, 2}, nil))
	if h := f.Host(3); h.Bare != 2001 || f.Shard(1).Replica(3) != nil {
		t.Errorf("without a replica: %+v", h)
	}
	f.reach("3")
	if h := f.Host(3); h.Addresses != (Addresses{}) || h.Name != "c" || h.Incarnation != incarnation(3) {
		t.Errorf("what is kept: %+v", h)
	}
	f.done(f.Expel(f.at(), "b", true, 0))
	f.refused(protocol.StatusPreconditionFailed, "last host", func() Answer { return f.Expel(f.at(), "a", true, 0) })
}

// TestALateReplicaOfAnExpelledHost: a replica being added meanwhile must go as well before the expulsion is final.
func TestALateReplicaOfAnExpelledHost(t *testing.T) {
	f := newFixture(t, "a")
	f.done(f.Join(f.at(), joinOf("d", 4)))
	f.done(f.Allocate(f.at(), 0, 2, FirstReplica, 0))
	f.done(f.Expel(f.at(), "d", true, 0))
	if f.Host(2).Bare == 0 {
		t.Error("it has no replica, and yet it counts as if it had")
	}
	f.done(f.known(0, 1, []uint64{1}, []uint64{FirstReplica}))
	if f.Host(2).Bare != 0 {
		t.Error("a replica came late")
	}
	f.done(f.known(0, 2, []uint64{1}, nil))
	f.reach("2")
}

func TestEnough(t *testing.T) {
	for _, x := range []struct {
		how                    absence
		voters, others, spares int
		want                   bool
	}{
		{absenceDrained, 1, 0, 0, false}, {absenceDrained, 1, 0, 1, true}, {absenceDrained, 2, 1, 0, false},
		{absenceDrained, 3, 2, 0, true}, {absenceDrained, 3, 1, 0, false}, {absenceDrained, 3, 1, 1, true},
		{absenceLeaving, 1, 0, 0, false}, {absenceLeaving, 2, 1, 0, true}, {absenceLeaving, 3, 1, 0, false},
		{absenceLeaving, 3, 1, 1, true}, {absenceLeaving, 4, 2, 0, true},
		{absenceDead, 1, 0, 5, false}, {absenceDead, 2, 1, 5, false}, {absenceDead, 3, 2, 0, true},
		{absenceDead, 4, 2, 5, false}, {absenceDead, 5, 3, 0, true},
	} {
		if got := enough(x.how, x.voters, x.others, x.spares); got != x.want {
			t.Errorf("%+v: %t", x, got)
		}
	}
}
