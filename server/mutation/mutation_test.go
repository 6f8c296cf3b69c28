package mutation

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// TestEachMutationHasACommandOfItsOwn: the work after a command is found by its command kind.
func TestEachMutationHasACommandOfItsOwn(t *testing.T) {
	of := make(map[shard.CommandKind]protocol.Kind)
	for k, m := range All {
		kind := protocol.Kind(k)
		if m.Command == nil {
			if m.Fill != nil || m.Applied != nil || m.Frees || m.Waits != NeverWaits || m.MayChangeNothing {
				t.Errorf("%v changes no object, and its row has content", kind)
			}
			continue
		}
		c := CommandOf(&protocol.Request{Kind: kind}, new([]byte))
		if other, taken := of[c.Kind]; taken || c.Kind == 0 {
			t.Errorf("%v and %v make the command %v", other, kind, c.Kind)
		}
		of[c.Kind] = kind
		if (Applied[c.Kind] != nil) != (m.Applied != nil) {
			t.Errorf("%v: Applied has another function than the row", kind)
		}
	}
	if len(of) < 20 {
		t.Errorf("only %d mutations", len(of))
	}
}

func TestAcquireBecomesACommandAndAnAnswer(t *testing.T) {
	r := &protocol.Request{Kind: protocol.KindAcquire, Acquire: protocol.Acquire{
		Mutation: protocol.Mutation{SessionID: 5, Sequence: 6}, NodeID: 2, Name: []byte("x"), Count: 3, Ephemeral: true,
	}}
	c := CommandOf(r, new([]byte))
	if c.Kind != shard.CmdAcquire || c.Session != 5 || c.Number != 6 || c.Node != 2 || string(c.Name) != "x" ||
		c.Count != 3 || c.Flags != shard.FlagEphemeral {
		t.Errorf("the command is %+v", c)
	}
	for flag, want := range map[shard.EffectFlags]protocol.AcquireOutcome{
		shard.FlagQueued: protocol.Queued, shard.FlagAcquired: protocol.Acquired,
	} {
		var a protocol.Answer
		All[r.Kind].Fill(&a, nil, &c, &shard.Effect{Order: 9, Limit: 4, Flags: flag})
		if a.Acquire.Outcome != want || a.Acquire.OrderID != 9 || a.Acquire.SemaphoreLimit != 4 {
			t.Errorf("the answer is %+v", a.Acquire)
		}
	}
}
