package machine

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	processkind "github.com/signalbox/signalbox/protocol/process"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/shard/rollout"
)

const waitMillis = 12_000

// renew makes the shard of a bed anew, under a leader of the new group, with other sessions.
func (b *bed) renew(t *testing.T) {
	t.Helper()
	made, err := b.m.Renew(Renewal{Group: 1, Jump: JumpOver(0)})
	if err != nil {
		t.Fatal(err)
	}
	b.m = restored(t, save(t, prepare(t, made)))
	b.one.Stamp.Elapsed = 0
	b.do(shard.Command{Kind: shard.CmdLead, Term: 1})
	b.do(shard.Command{Kind: shard.CmdGroupWait, Term: 1, Count: 1, Timeout: waitMillis})
	for i := range b.ids {
		b.do(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(i % shard.Slots), Node: 1, Timeout: 10_000})
		b.ids[i] = b.result().Session
	}
}

// mustBe fails the test where a command was answered otherwise.
func mustBe(t *testing.T, what string, e *shard.Effect, status protocol.Status) {
	t.Helper()
	if e.Status != status || status == protocol.StatusOverloaded && e.Body != shard.QuietReason {
		t.Fatalf("%s: answered %v %q, not %v", what, e.Status, e.Body, status)
	}
}

// TestARenewedRolloutGetsItsInstancesAfterTheWait: its versions and targets are there, and grow from where they were.
func TestARenewedRolloutGetsItsInstancesAfterTheWait(t *testing.T) {
	b := rolloutBed(t, 1)
	b.joinRollout(0, "a", "sas")
	b.lead(0)
	b.publish(rolloutkind.Publication{})
	b.report(0, rollout.Report{Current: 1, Generation: 1})
	before := b.target(t, "sas")
	b.renew(t)
	if after := b.target(t, "sas"); after.Seq != before.Seq || after.Generation < before.Generation {
		t.Errorf("the target is %+v, and was %+v", after, before)
	}
	mustBe(t, "a publication", b.publish(rolloutkind.Publication{}), protocol.StatusSuccess)
	mustBe(t, "joining", b.joinRollout(0, "a", "sas"), protocol.StatusOverloaded)
	b.one.Stamp.Elapsed = waitMillis
	mustBe(t, "joining later", b.joinRollout(0, "a", "sas"), protocol.StatusSuccess)
}

// TestARenewedProcessGetsItsMembersAfterTheWait: the process is there, and no process is made by joining before.
func TestARenewedProcessGetsItsMembersAfterTheWait(t *testing.T) {
	r := running(t, 3, processSpec)
	epoch := r.epoch()
	r.renew(t)
	if n := r.m.Count(); n.Links != 0 || n.Objects != 1 {
		t.Errorf("%+v", n)
	}
	mustBe(t, "joining", r.join(0, processkind.Arrival{}), protocol.StatusOverloaded)
	first := processkind.Arrival{Create: true, Spec: processSpec}
	r.as(0, shard.Command{Kind: shard.CmdProcessJoin, Name: []byte("other"), Body: process.Append(nil, &first)})
	mustBe(t, "joining what is made", r.result(), protocol.StatusOverloaded)
	if n := r.m.Count(); n.Links != 0 || n.Objects != 1 {
		t.Errorf("%+v", n)
	}
	r.one.Stamp.Elapsed = waitMillis
	if e := r.join(0, processkind.Arrival{}); e.Status != protocol.StatusSuccess || uint64(e.Order) <= epoch {
		t.Errorf("%v as %d, the last epoch was %d", e.Status, e.Order, epoch)
	}
}
