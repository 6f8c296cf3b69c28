package replica

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

// rebuilding is a host that leads two shards. A slot with a semaphore moves from the first to the second.
type rebuilding struct {
	*testing.T
	*Set
	from, to *Replica
	slot     shard.Slot
	ahead    atomic.Int64 // of the host's clock
}

func newRebuilding(t *testing.T) *rebuilding {
	t.Helper()
	w, began := &rebuilding{T: t}, time.Now()
	w.Set = standaloneWith(t, 2, level.Newest, func(c *Config) {
		c.Clock = func() time.Time { return began.Add(time.Since(began) + time.Duration(w.ahead.Load())) }
	})
	w.from, w.to = w.All()[0], w.All()[1]
	until(t, "the cluster is of the newest level, and its leader has begun", w.Set, w.Meta.upkeep, func() bool {
		return w.Meta.Machine.Level() == level.Newest && w.Meta.Machine.Clock().Term != 0
	})
	w.ask(&meta.HostsBootstrap{InitialMembers: []meta.InitialMember{{ID: 1}}})
	until(t, "both leaders have confirmed that they lead", w.Set, w.run, func() bool {
		return w.from.unable() == "" && w.to.unable() == ""
	})
	name := nameIn(w.from, 1)
	w.slot = shard.SlotOf(1, name)
	propose(t, w.from, shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1})
	return w
}

// run does the leaders' tasks once.
func (r *rebuilding) run() {
	for _, led := range r.All() {
		led.leader.run(r.Now())
	}
}

// ask sends an operator's or the executor's request to the meta shard.
func (r *rebuilding) ask(request meta.Request) {
	r.Helper()
	done := make(chan string, 1)
	r.Meta.Propose(meta.NewCommand(request, meta.Origin{By: "test"}), func(e *meta.Effect, failed protocol.Status) {
		if why := fmt.Sprint(failed); e == nil || e.Status != protocol.StatusSuccess {
			if e != nil {
				why = fmt.Sprint(e.Status, e.Message)
			}
			done <- why
			return
		}
		done <- ""
	})
	if why := <-done; why != "" {
		r.Fatalf("%T: %s", request, why)
	}
}

// move moves the slot as the executor does, and returns the generation.
func (r *rebuilding) move() (generation uint64) {
	r.Helper()
	from, to := meta.ShardID(r.from.ID), meta.ShardID(r.to.ID)
	r.ask(&meta.SlotMove{Slot: r.slot, To: to})
	topology, _ := r.Meta.Machine.Topology()
	generation = topology.Records.MoveGeneration(r.slot, from, to)
	r.ask(&meta.StepBegin{Term: r.Meta.Machine.Clock().Term, Revision: topology.Plan.Revision(),
		Proposal: plan.Proposal[governor.Action]{Kind: governor.KindMoveSlot,
			Subject: plan.Subject(fmt.Sprint("slot/", r.slot)),
			Payload: governor.Action{Shard: from, Into: to, Slot: r.slot, Number: generation}}})
	outcome, reason, err := r.Slot(r.Context(), &protocol.StepExecute{Effect: protocol.EffectMoveSlot,
		ShardID: r.from.ID, Into: r.to.ID, Slot: uint64(r.slot), Generation: generation})
	if outcome != protocol.SlotOpened {
		r.Fatalf("%v, %s, %v", outcome, reason, err)
	}
	r.ask(&meta.SlotAssign{Slot: r.slot, Shard: to, Generation: generation})
	return generation
}

// saved returns a copy of a machine.
func saved(t *testing.T, m *machine.Machine) *machine.Machine {
	t.Helper()
	snapshot, err := m.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Discard()
	var file bytes.Buffer
	if err := snapshot.Save(&file, nil); err != nil {
		t.Fatal(err)
	}
	c := machine.New(kinds.All(), machine.Options{})
	if err := c.Restore(&file); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestARebuiltShardGivesUpASlotThatAnotherShardOwns: the shard is rebuilt from a replica that lacks the seal.
func TestARebuiltShardGivesUpASlotThatAnotherShardOwns(t *testing.T) {
	w := newRebuilding(t)
	lagging := saved(t, w.from.Machine)
	generation := w.move()
	if n := w.from.Machine.Count().Objects; n != 0 {
		t.Fatalf("%d objects have stayed", n)
	}
	if n := lagging.Count().Objects; n != 1 {
		t.Fatalf("the lagging replica had %d objects", n)
	}
	renew(t, w.from, lagging)
	w.run()
	propose(t, w.from, shard.Command{Kind: shard.CmdContinue}) // behind what the leader has proposed
	if x := w.from.Machine.Slot(w.slot); x.State != slots.Released || x.To != w.to.ID || x.Generation != generation {
		t.Errorf("the slot is %v, at shard %d under %d", x.State, x.To, x.Generation)
	}
	if n := w.from.Machine.Count().Objects; n != 0 {
		t.Errorf("%d objects are left", n)
	}
	if x, n := w.to.Machine.Slot(w.slot), w.to.Machine.Count().Objects; x.State != slots.Owned || n != 1 {
		t.Errorf("the other shard has the slot %v, and %d objects", x.State, n)
	}
	if w.Of(w.slot) != w.to {
		t.Error("requests go to the rebuilt shard")
	}
}

// TestARebuiltShardThatLacksASlotGetsTheSlotAgain: the new shard is rebuilt from a replica that lacks the open. The old
// shard still has the content, and offers it once the rebuilt shard grants again.
func TestARebuiltShardThatLacksASlotGetsTheSlotAgain(t *testing.T) {
	w := newRebuilding(t)
	lagging := saved(t, w.to.Machine)
	generation := w.move()
	until(t, "the old shard has released the slot", w.Set, w.run, func() bool {
		return w.from.Machine.Slot(w.slot).State == slots.Transferred
	})
	renew(t, w.to, lagging)
	if x, n := w.to.Machine.Slot(w.slot), w.to.Machine.Count().Objects; x.State == slots.Owned || n != 0 {
		t.Fatalf("the lagging replica had the slot %v, and %d objects", x.State, n)
	}
	const wait = time.Minute
	term := w.to.leader.stage().term
	propose(t, w.to, shard.Command{Kind: shard.CmdGroupWait, Term: term, Count: 1,
		Timeout: uint64(wait.Milliseconds())})
	until(t, "the rebuilt shard grants again", w.Set, func() {
		w.ahead.Add(int64(wait / 4))
		w.to.leader.run(w.Now())
		w.to.leader.proposeDue(term)
	}, func() bool {
		group := w.to.Machine.Group()
		return !group.Waits(w.to.Machine.Time())
	})
	w.ahead.Add(int64(checkOpenedEvery))
	until(t, "its leader has confirmed that it leads", w.Set, func() { w.to.leader.run(w.Now()) }, func() bool {
		return w.to.unable() == ""
	})
	w.from.leader.run(w.Now())
	w.moves.calls.Wait()
	if x, n := w.to.Machine.Slot(w.slot), w.to.Machine.Count().Objects; x.State != slots.Owned ||
		x.Generation != generation || n != 1 {
		t.Errorf("the slot is %v with %d objects under %d", x.State, n, x.Generation)
	}
}
