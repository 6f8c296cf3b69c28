package shard

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// randomCommand fills every field with something, or nothing.
func randomCommand(rng *rand.Rand) Command {
	number := func() uint64 {
		switch rng.IntN(4) {
		case 0:
			return 0
		case 1:
			return Forever
		case 2:
			return rng.Uint64()
		}
		return uint64(rng.IntN(300))
	}
	some := func(max int) []byte {
		if rng.IntN(3) == 0 {
			return nil
		}
		b := make([]byte, 1+rng.IntN(max))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	c := Command{
		Kind: CommandKind(1 + rng.IntN(20)), Flags: CommandFlags(rng.IntN(8)), Slot: Slot(rng.IntN(Slots)),
		Node: NodeID(number()), Session: SessionID(number()), Number: number(), Acked: number(),
		Name: some(40), Data: some(300), Key: some(MaxKey), Count: number(), Timeout: number(),
		Order: OrderID(number()), Term: number(), Revision: Revision(number()),
	}
	for range rng.IntN(4) {
		c.Sessions = append(c.Sessions, SessionID(number()))
		c.Waiters = append(c.Waiters, WaiterRef{
			Node: NodeID(number()), Name: some(10), Session: SessionID(number()),
			Order: OrderID(number()), Number: number(),
		})
	}
	return c
}

func sameBatch(a, b *Batch) bool {
	if a.Proposer != b.Proposer || a.Sequence != b.Sequence || len(a.Commands) != len(b.Commands) {
		return false
	}
	for i := range a.Commands {
		x, y := a.Commands[i], b.Commands[i]
		for _, c := range []*Command{&x, &y} { // an empty list is as good as none
			if len(c.Name) == 0 {
				c.Name = nil
			}
			if len(c.Data) == 0 {
				c.Data = nil
			}
			if len(c.Key) == 0 {
				c.Key = nil
			}
			if len(c.Sessions) == 0 {
				c.Sessions = nil
			}
			if len(c.Waiters) == 0 {
				c.Waiters = nil
			}
			for j := range c.Waiters {
				if len(c.Waiters[j].Name) == 0 {
					c.Waiters[j].Name = nil
				}
			}
		}
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

func TestBatchComesBackAsItWasEncoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var got Batch
	for range 5000 {
		want := Batch{Proposer: rng.Uint64(), Sequence: rng.Uint64() >> rng.IntN(64)}
		var gathered []byte
		for range rng.IntN(6) {
			want.Commands = append(want.Commands, randomCommand(rng))
			gathered = AppendCommand(gathered, &want.Commands[len(want.Commands)-1])
		}
		data := AppendBatch(nil, &want)
		if !bytes.Equal(data, AppendGathered(nil, want.Proposer, want.Sequence, len(want.Commands), gathered)) {
			t.Fatal("a gathered batch looks different")
		}
		if err := DecodeBatch(data, &got); err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		if !sameBatch(&want, &got) {
			t.Fatalf("have %+v\nwant %+v", got, want)
		}
	}
}

func TestDecodeBatchNamesWhatIsWrong(t *testing.T) {
	good := AppendBatch(nil, &Batch{Sequence: 1, Commands: []Command{{
		Kind: CmdAcquire, Node: 1, Session: 7, Number: 1, Name: []byte("name"), Count: 1,
	}}})
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for _, c := range []struct {
		what string
		data []byte
		is   error
		says string
	}{
		{"empty", nil, ErrBadBatch, "cut short"},
		{"newer", change(0, 9), ErrNewerFormat, "format 9"},
		{"format zero", change(0, 0), ErrBadBatch, "format 0"},
		{"too many commands", change(10, 0x7f), ErrBadBatch, "more commands"},
		{"kind zero", change(11, 0), ErrBadBatch, "kind 0"},
		{"unknown field", []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01\x13\x00\x80\x02\x05"), ErrBadBatch, "newer format"},
		{"tail", append(bytes.Clone(good), 1), ErrBadBatch, "behind the last command"},
		{"cut", good[:len(good)-1], ErrBadBatch, "command 0"},
	} {
		var b Batch
		err := DecodeBatch(c.data, &b)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.what, err)
		}
		if len(b.Commands) != 0 {
			t.Errorf("%s: left %d commands behind", c.what, len(b.Commands))
		}
	}
}

// Logs hold these bytes: they are read as they always were.
func TestTheFormOfABatchStays(t *testing.T) {
	const head = "01" + "0500000000000000" + "07" + "01" // version, proposer 5, sequence 7, one command
	update := Command{Kind: CmdSemaphoreUpdate, Node: 17, Session: 0x0102030405060708, Number: 3, Acked: 2, Name: []byte("ab"), Data: []byte("c"), Order: 9}
	guarded := Command{Kind: CmdSemaphoreUpdate, Node: 17, Name: []byte("ab"), Data: []byte("c"), Revision: 300}
	for text, want := range map[string]Command{
		head + "11" + "fc08" + "11" + "0807060504030201" + "03" + "02" + "026162" + "0163" + "09": update,
		head + "11" + "c480" + "01" + "11" + "026162" + "0163" + "ac02":                           guarded,
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		batch := Batch{Proposer: 5, Sequence: 7, Commands: []Command{want}}
		if got := AppendBatch(nil, &batch); !bytes.Equal(got, data) {
			t.Errorf("%+v is written as %x, was %x", want, got, data)
		}
		var got Batch
		if err := DecodeBatch(data, &got); err != nil || !sameBatch(&got, &batch) {
			t.Errorf("%x is read as %+v, %v", data, got.Commands, err)
		}
	}
}

func TestDecodeBatchAllocatesNoMoreThanItsBytesAskFor(t *testing.T) {
	// A batch that claims 16 million sessions and brings none.
	data := AppendBatch(nil, &Batch{Commands: []Command{{Kind: CmdSessionsForget, Sessions: []SessionID{1}}}})
	huge := append(data[:len(data)-9], 0xff, 0xff, 0xff, 0x07)
	var b Batch
	allocated := testing.Benchmark(func(tb *testing.B) {
		tb.ReportAllocs()
		for range tb.N {
			if DecodeBatch(huge, &b) == nil {
				tb.Fatal("was accepted")
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 4096 {
		t.Fatalf("%d bytes allocated for %d bytes of input", allocated, len(huge))
	}
}

func FuzzDecodeBatch(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		b := Batch{Proposer: rng.Uint64(), Commands: []Command{randomCommand(rng), randomCommand(rng)}}
		f.Add(AppendBatch(nil, &b))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b, again Batch
		if DecodeBatch(data, &b) != nil {
			return
		}
		if err := DecodeBatch(AppendBatch(nil, &b), &again); err != nil {
			t.Fatal(err)
		}
		if !sameBatch(&b, &again) {
			t.Fatalf("have %+v\nwant %+v", again, b)
		}
		// Whatever can be decoded can be applied.
		var out Effects
		m := New(Options{})
		m.Apply(&b, &out)
		results := 0
		for _, e := range out.List {
			if e.Kind == EffectResult {
				results++
			}
		}
		if results != len(b.Commands) {
			t.Fatalf("%d results for %d commands", results, len(b.Commands))
		}
	})
}
