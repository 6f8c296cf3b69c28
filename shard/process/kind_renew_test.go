package process

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// TestARenewedProcessGetsItsMembersAfterTheWait: the process exists, and joins before that create no process.
func TestARenewedProcessGetsItsMembersAfterTheWait(t *testing.T) {
	r := running(t, 3, processSpec)
	epoch := r.epoch()
	made, err := r.M.Renew(machine.Renewal{Group: 1, Jump: machine.JumpOver(0)})
	if err != nil {
		t.Fatal(err)
	}
	r.RenewAs(machinetest.Copy(t, made, empty()))
	if n := r.M.Count(); n.Links != 0 || n.Objects != 1 {
		t.Errorf("%+v", n)
	}
	machinetest.Expect(t, "joining", r.join(0, processkind.Arrival{}), protocol.StatusOverloaded)
	first := processkind.Arrival{Create: true, Spec: processSpec}
	r.As(0, shard.Command{Kind: shard.CmdProcessJoin, Name: []byte("other"), Body: Append(nil, &first)})
	machinetest.Expect(t, "joining what is made", r.Result(), protocol.StatusOverloaded)
	if n := r.M.Count(); n.Links != 0 || n.Objects != 1 {
		t.Errorf("%+v", n)
	}
	r.One.Stamp.Elapsed = machinetest.RenewalWait
	if e := r.join(0, processkind.Arrival{}); e.Status != protocol.StatusSuccess || uint64(e.Order) <= epoch {
		t.Errorf("%v as %d, the last epoch was %d", e.Status, e.Order, epoch)
	}
}
