package machine

import (
	"reflect"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// notAsked are command fields outside a request's identity, besides an acquire's timeout. Mutations never have the
// fields of the second line.
var notAsked = []string{
	"Level", "Session", "Number", "Acked", "Time",
	"Slot", "Key", "Sum", "Client", "Bytes", "Sessions", "Waiters",
}

// TestWhatIsAskedIsEachArgument: a different value in one field makes a different request, unless the field is
// excluded.
func TestWhatIsAskedIsEachArgument(t *testing.T) {
	full := func() shard.Command {
		return shard.Command{
			Level: 6, Kind: shard.CmdProcessReply, Flags: shard.FlagForce, Slot: 1, Node: 2, Session: 3, Number: 4,
			Acked: 5,
			Name:  []byte("n"), Data: []byte("d"), Key: []byte("k"), Count: 6, Timeout: 7, Order: 8, Term: 9,
			Revision: 10, Sum: 11, Time: 12, Bytes: 13, Body: []byte("b"),
		}
	}
	hash := func(c shard.Command) uint64 {
		return askedOf(&c, &TestKinds.mutations[c.Kind], shard.ObjectHash(c.Node, c.Name))
	}
	whole := hash(full())
	for i := range reflect.TypeFor[shard.Command]().NumField() {
		c := full()
		name := reflect.TypeFor[shard.Command]().Field(i).Name
		switch f := reflect.ValueOf(&c).Elem().Field(i); {
		case f.CanUint():
			f.SetUint(f.Uint() + 1)
		case f.Type() == reflect.TypeFor[[]byte]():
			f.SetBytes([]byte("other"))
		default:
			f.Set(reflect.Zero(f.Type()))
		}
		if asked := !slices.Contains(notAsked, name); asked != (hash(c) != whole) {
			t.Errorf("another %s makes another request: %v, want %v", name, !asked, asked)
		}
	}
	acquire := shard.Command{Kind: shard.CmdAcquire, Node: 1, Name: []byte("n"), Count: 1, Timeout: 5}
	longer := acquire
	longer.Timeout = shard.Forever
	if hash(acquire) != hash(longer) {
		t.Error("an acquire that waits longer is another request")
	}
}

// TestTheHashOfARequestStays: cached answers in snapshots contain it.
func TestTheHashOfARequestStays(t *testing.T) {
	for want, c := range map[uint64]shard.Command{
		0x5f9c4ecdde8e7b74: {Kind: shard.CmdAcquire, Node: 1, Name: []byte("lock"), Count: 1,
			Flags: shard.FlagEphemeral},
		0xd164f98283b81da6: {
			Kind: shard.CmdRolloutPut, Node: 1, Name: []byte("app"), Body: []byte("spec"), Data: []byte("data"),
		},
	} {
		if got := askedOf(&c, &TestKinds.mutations[c.Kind], shard.ObjectHash(c.Node, c.Name)); got != want {
			t.Errorf("%v: %#x, was %#x", c.Kind, got, want)
		}
	}
}

// TestNoKindOfObjectsAnswersAnotherRequest: for every kind, a numbered command is refused with another command's
// number, and answered again with its own, without a change.
func TestNoKindOfObjectsAnswersAnotherRequest(t *testing.T) {
	tried := make(map[shard.ObjectKind]int)
	for kind := range TestKinds.mutations {
		if of := TestKinds.mutations[kind].of; of == 0 || of == kindBell || of == kindClub {
			continue // none, or for tests only
		}
		b := newestBed(1)
		c := shard.Command{Kind: shard.CommandKind(kind), Name: []byte("first"), Count: 1, Order: 7}
		b.ApplyAs(0, &c)
		if b.M.core.Sessions.answer(b.M.core.Sessions.At(b.M.core.Sessions.Find(b.IDs[0])), c.Number) == nil {
			continue // a form that uses no number
		}
		tried[TestKinds.mutations[kind].of]++
		first, before := *b.Result(), b.M.Digest()
		b.Do(c)
		if got := b.Result(); got.Status != first.Status || got.Order != first.Order || got.Body != first.Body {
			t.Errorf("%v again: %+v, was %+v", c.Kind, *got, first)
		}
		if b.M.Digest() != before {
			t.Errorf("%v: a repetition has changed something", c.Kind)
		}
		c.Name = []byte("other")
		for range 2 {
			before = b.M.Digest()
			b.Do(c)
			if got := b.Result().Status; got != protocol.StatusSequenceReused {
				t.Errorf("%v of another name under a used number: %v", c.Kind, got)
			}
		}
		if b.M.Digest() != before { // the first refusal notes the slot
			t.Errorf("%v: a second refusal has changed something", c.Kind)
		}
	}
	for _, k := range []shard.ObjectKind{shard.KindSemaphore, shard.KindRollout, shard.KindProcess} {
		if tried[k] < 5 {
			t.Errorf("only %d commands of the kind %v were tried", tried[k], k)
		}
	}
}
