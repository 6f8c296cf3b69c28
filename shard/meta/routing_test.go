package meta

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func assign(first, last shard.Slot, from, to ShardID, version uint64) Command {
	return Command{Kind: CmdSlotsAssign, First: first, Last: last, From: from, To: to, Expected: version}
}

func TestSlotsAreSpreadEvenlyAtBootstrap(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 16, 100, MaxDataShards} {
		m := bootstrapped(n)
		r := m.Routing()
		if r.Version != 1 || r.Cluster != "c-1" || len(r.Shards) != n || len(r.Ranges) != n {
			t.Fatalf("%d data shards: %+v", n, r)
		}
		next := 0
		for i, g := range r.Ranges {
			if size := int(g.Last) - int(g.First) + 1; int(g.First) != next || size < shard.Slots/n ||
				size > shard.Slots/n+1 {
				t.Errorf("%d data shards: range %d is %+v", n, i, g)
			}
			next = int(g.Last) + 1
		}
		if next != shard.Slots {
			t.Errorf("%d data shards: the ranges end at %d", n, next)
		}
		mustEqual(t, copyOf(t, m), m)
	}
}

func TestClusterIsBootstrappedOnce(t *testing.T) {
	m := New()
	if list := run(m, bootstrap(30, 10, 20)); kinds(list) != "result routing-changed " || list[1].Routing != 1 {
		t.Fatalf("%+v", list)
	}
	ok(t, m, assign(0, 9, 10, 20, 1))
	r := m.Routing()
	for _, same := range []Command{bootstrap(30, 10, 20), bootstrap(10, 20, 30)} {
		if e := ok(t, m, same); e.Flags != FlagExisted || e.Routing != 2 {
			t.Errorf("the same bootstrap again: %+v", e)
		}
	}
	other := bootstrap(10, 20, 30)
	other.Cluster = "c-2"
	for _, c := range []Command{other, bootstrap(10, 20), bootstrap(10, 20, 30, 40)} {
		want(t, m, protocol.StatusPreconditionFailed, c)
	}
	if now := m.Routing(); now.Version != 2 || !slices.Equal(now.Ranges, r.Ranges) {
		t.Errorf("a second bootstrap changed the table: %+v", now)
	}
}

func TestMalformedBootstrapIsRejected(t *testing.T) {
	m := New()
	var many []ShardID
	for i := range MaxDataShards + 1 {
		many = append(many, ShardID(i+1))
	}
	unnamed, spaced := bootstrap(1), bootstrap(1)
	unnamed.Cluster, spaced.Cluster = "", "a b"
	for want, c := range map[string]Command{
		"0 bytes long":         unnamed,
		"byte 0x20":            spaced,
		"0 data shards":        bootstrap(),
		"257 data shards":      bootstrap(many...),
		"data shard with id 0": bootstrap(1, 0),
		"5 is listed twice":    bootstrap(5, 6, 5),
	} {
		if e := do(m, c); e.Status != protocol.StatusBadRequest || !strings.Contains(e.Message, want) {
			t.Errorf("%v (%s), want BAD_REQUEST with %q", e.Status, e.Message, want)
		}
	}
	if r := m.Routing(); r.Version != 0 || r.table()[7] != 0 {
		t.Errorf("the table of a not yet bootstrapped cluster: %+v", r)
	}
}

func TestSlotsGoFromShardToShard(t *testing.T) {
	m := bootstrapped(2)
	list := run(m, assign(100, 199, 1, 2, 1))
	if kinds(list) != "result routing-changed " || list[0].Routing != 2 {
		t.Fatalf("%+v", list)
	}
	r := m.Routing()
	if got := fmt.Sprint(r.Ranges); got != "[{0 99 1} {100 199 2} {200 2047 1} {2048 4095 2}]" {
		t.Errorf("the ranges are %s", got)
	}
	for slot, id := range map[shard.Slot]ShardID{0: 1, 99: 1, 100: 2, 199: 2, 200: 1, 2047: 1, 2048: 2, 4095: 2} {
		if got := r.table()[slot]; got != id {
			t.Errorf("slot %d is of shard %d, want %d", slot, got, id)
		}
	}
	if e := ok(t, m, assign(100, 199, 1, 2, 1)); e.Flags != FlagExisted || e.Routing != 2 {
		t.Errorf("the same once more: %+v", e)
	}
	ok(t, m, assign(100, 199, 2, 1, 0))
	if now := m.Routing(); fmt.Sprint(now.Ranges) != "[{0 2047 1} {2048 4095 2}]" || now.Version != 3 {
		t.Errorf("there and back: %+v", now)
	}
	if fmt.Sprint(r.Ranges) != "[{0 99 1} {100 199 2} {200 2047 1} {2048 4095 2}]" {
		t.Error("a table that was read has changed")
	}
	ok(t, m, assign(0, 2047, 1, 2, 3))
	if now := m.Routing(); len(now.Ranges) != 1 || len(now.Shards) != 2 {
		t.Errorf("a data shard without slots: %+v", now)
	}
}

func TestSlotRules(t *testing.T) {
	m := bootstrapped(2)
	for _, c := range []struct {
		status  protocol.Status
		command Command
		message string
	}{
		{protocol.StatusBadRequest, assign(5, 4, 1, 2, 0), "a range within 0 to 4095"},
		{protocol.StatusBadRequest, assign(5, 4096, 1, 2, 0), "a range within 0 to 4095"},
		{protocol.StatusBadRequest, assign(5, 6, 1, 1, 0), "not from 1 to 1"},
		{protocol.StatusBadRequest, assign(5, 6, 0, 1, 0), "not from 0 to 1"},
		{protocol.StatusBadRequest, assign(5, 6, 1, 0, 0), "not from 1 to 0"},
		{protocol.StatusPreconditionFailed, assign(5, 6, 1, 3, 0), "3 is not a data shard"},
		{protocol.StatusPreconditionFailed, assign(5, 6, 1, 2, 7), "version 1, not 7"},
		{protocol.StatusPreconditionFailed, assign(2000, 3000, 1, 2, 0), "not all slots from"},
		{protocol.StatusPreconditionFailed, assign(3000, 3001, 3, 1, 0), "not all slots from"},
	} {
		if e := want(t, m, c.status, c.command); !strings.Contains(e.Message, c.message) {
			t.Errorf("the message %q does not have %q", e.Message, c.message)
		}
	}
	want(t, New(), protocol.StatusPreconditionFailed, assign(5, 6, 1, 2, 0))
}
