package rollout

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// TestARenewedRolloutGetsItsInstancesAfterTheWait: its versions and targets are kept, and continue to grow.
func TestARenewedRolloutGetsItsInstancesAfterTheWait(t *testing.T) {
	b := rolloutBed(t, 1)
	b.joinRollout(0, "a", "sas")
	b.lead(0)
	b.publish(rolloutkind.Publication{})
	b.report(0, Report{Current: 1, Generation: 1})
	before := b.target(t, "sas")
	made, err := b.M.Renew(machine.Renewal{Group: 1, Jump: machine.JumpOver(0)})
	if err != nil {
		t.Fatal(err)
	}
	b.RenewAs(machinetest.Copy(t, made, empty()))
	if after := b.target(t, "sas"); after.Seq != before.Seq || after.Generation < before.Generation {
		t.Errorf("the target is %+v, and was %+v", after, before)
	}
	machinetest.Expect(t, "a publication", b.publish(rolloutkind.Publication{}), protocol.StatusSuccess)
	machinetest.Expect(t, "joining", b.joinRollout(0, "a", "sas"), protocol.StatusOverloaded)
	b.One.Stamp.Elapsed = machinetest.RenewalWait
	machinetest.Expect(t, "joining later", b.joinRollout(0, "a", "sas"), protocol.StatusSuccess)
}
