package meta

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/plan"
)

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
	r := m.Routing()
	for _, same := range []Command{bootstrap(30, 10, 20), bootstrap(10, 20, 30)} {
		if e := ok(t, m, same); e.Flags != FlagExisted || e.Routing != 1 {
			t.Errorf("the same bootstrap again: %+v", e)
		}
	}
	other := bootstrap(10, 20, 30)
	other.Cluster = "c-2"
	for _, c := range []Command{other, bootstrap(10, 20), bootstrap(10, 20, 30, 40)} {
		want(t, m, protocol.StatusPreconditionFailed, c)
	}
	if now := m.Routing(); now.Version != 1 || !slices.Equal(now.Ranges, r.Ranges) {
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
	if r := m.Routing(); r.Version != 0 || len(r.Ranges) != 0 {
		t.Errorf("the table of a not yet bootstrapped cluster: %+v", r)
	}
}

// move has a slot moved by an order, a step and the step's outcome.
func (c *cluster) move(slot shard.Slot, from, to ShardID, outcome func(g uint64) *SlotAssign) []Effect {
	c.Helper()
	c.done(&SlotMove{Slot: slot, To: to})
	g := c.records().MoveGeneration(slot, from, to)
	c.done(&StepBegin{Term: 7, Revision: c.plan().Revision(), Proposal: plan.Proposal[governor.Action]{
		Kind: governor.KindMoveSlot, Subject: plan.Subject(fmt.Sprint("slot/", slot)),
		Payload: governor.Action{Shard: from, Into: to, Slot: slot, Number: g}}})
	list := c.ask(outcome(g))
	c.done(&StepReport{Act: c.plan().Step(c.plan().Last()).Act(7), Report: ReportDone})
	return list
}

func TestMovedSlotChangesTheRouting(t *testing.T) {
	c := withHosts(t, "a")
	before := c.Routing()
	list := c.move(100, 1, 2, func(g uint64) *SlotAssign { return &SlotAssign{Slot: 100, Shard: 2, Generation: g} })
	if kinds(list) != "result topology-changed routing-changed audited " || list[2].Routing != before.Version+1 {
		t.Errorf("%s %+v", kinds(list), list)
	}
	r := c.Routing()
	if got := fmt.Sprint(r.Ranges); got != "[{0 99 1 0} {100 100 2 1} {101 2047 1 0} {2048 4095 2 0}]" ||
		r.Version != before.Version+1 {
		t.Errorf("version %d, the ranges are %s", r.Version, got)
	}
	if fmt.Sprint(before.Ranges) != "[{0 2047 1 0} {2048 4095 2 0}]" {
		t.Error("a table that was read has changed")
	}
	c.existed(&SlotAssign{Slot: 100, Shard: 2, Generation: 1})
	mustEqual(t, copyOf(t, c.Machine), c.Machine)
	if got := copyOf(t, c.Machine).Routing(); !reflect.DeepEqual(got, r) {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestKeptSlotOnlyHasANewGeneration(t *testing.T) {
	c := withHosts(t, "a")
	before := c.Routing()
	list := c.move(100, 1, 2, func(g uint64) *SlotAssign {
		return &SlotAssign{Slot: 100, Shard: 1, Generation: g + 1, Text: "too large"}
	})
	r := c.Routing()
	if got := fmt.Sprint(r.Ranges); kinds(list) != "result topology-changed audited " || r.Version != before.Version ||
		got != "[{0 99 1 0} {100 100 1 2} {101 2047 1 0} {2048 4095 2 0}]" {
		t.Errorf("%sversion %d, the ranges are %s", kinds(list), r.Version, got)
	}
	if o := c.records().SlotOrder(100); o == nil || o.Text != "too large" {
		t.Errorf("the order is %+v", o)
	}
	c.done(&SlotMove{Slot: 100, Cancel: true})
	if o := c.records().SlotOrder(100); o != nil {
		t.Errorf("the order is %+v", o)
	}
}
