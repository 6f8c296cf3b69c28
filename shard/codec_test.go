package shard_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
)

// randomCommand fills every field with something, or nothing.
func randomCommand(rng *rand.Rand) shard.Command {
	number := func() uint64 {
		switch rng.IntN(4) {
		case 0:
			return 0
		case 1:
			return shard.Forever
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
	c := shard.Command{
		Kind: randomKind(rng), Flags: shard.CommandFlags(rng.IntN(8)), Slot: shard.Slot(rng.IntN(shard.Slots)),
		Node: shard.NodeID(number()), Session: shard.SessionID(number()), Number: number(), Acked: number(),
		Name: some(40), Data: some(300), Key: some(shard.MaxKey), Count: number(), Timeout: number(),
		Order: shard.OrderID(number()), Term: number(), Revision: shard.Revision(number()), Sum: number(),
		Time: number(), Client: shard.ClientRef{Address: some(30), Name: some(200), Version: some(10)},
		Bytes: number(), Body: some(200),
	}
	for range rng.IntN(4) {
		c.Sessions = append(c.Sessions, shard.SessionID(number()))
	}
	return c
}

// randomStamp draws a stamp, or none.
func randomStamp(rng *rand.Rand) clock.Stamp {
	if rng.IntN(3) == 0 {
		return clock.Stamp{}
	}
	return clock.Stamp{Term: 1 + rng.Uint64()>>(1+rng.IntN(63)), Elapsed: rng.Uint64() >> rng.IntN(64)}
}

// randomKind draws a kind known to this build.
func randomKind(rng *rand.Rand) shard.CommandKind {
	for {
		if k := shard.CommandKind(rng.IntN(len(shard.Commands))); shard.Commands[k].Name != "" && k != shard.CmdLevel {
			return k
		}
	}
}

// sameBatch compares batch contents, ignoring the levels at decoding.
func sameBatch(a, b *shard.Batch) bool {
	if a.Proposer != b.Proposer || a.Sequence != b.Sequence || a.Stamp != b.Stamp ||
		len(a.Commands) != len(b.Commands) {
		return false
	}
	for i := range a.Commands {
		x, y := a.Commands[i], b.Commands[i]
		for _, c := range []*shard.Command{&x, &y} { // an empty list equals nil
			c.Level = 0
			if len(c.Name) == 0 {
				c.Name = nil
			}
			for _, said := range []*[]byte{&c.Client.Address, &c.Client.Name, &c.Client.Version} {
				if len(*said) == 0 {
					*said = nil
				}
			}
			if len(c.Data) == 0 {
				c.Data = nil
			}
			if len(c.Key) == 0 {
				c.Key = nil
			}
			if len(c.Body) == 0 {
				c.Body = nil
			}
			if len(c.Sessions) == 0 {
				c.Sessions = nil
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
	var got shard.Batch
	for range 5000 {
		want := shard.Batch{Proposer: rng.Uint64(), Sequence: rng.Uint64() >> rng.IntN(64), Stamp: randomStamp(rng)}
		var gathered []byte
		for range rng.IntN(6) {
			want.Commands = append(want.Commands, randomCommand(rng))
			gathered = shard.AppendCommand(gathered, &want.Commands[len(want.Commands)-1])
		}
		data := shard.AppendBatch(nil, &want)
		if !bytes.Equal(data, shard.AppendGathered(nil, want.Proposer, want.Sequence, want.Stamp, len(want.Commands),
			gathered)) {
			t.Fatal("a gathered batch looks different")
		}
		if err := shard.DecodeBatch(data, &got, level.Newest); err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		if !sameBatch(&want, &got) {
			t.Fatalf("have %+v\nwant %+v", got, want)
		}
	}
}

func TestDecodeBatchNamesWhatIsWrong(t *testing.T) {
	good := shard.AppendBatch(nil, &shard.Batch{Sequence: 1, Commands: []shard.Command{{
		Kind: shard.CmdAcquire, Node: 1, Session: 7, Number: 1, Name: []byte("name"), Count: 1,
	}}})
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	leveled := func(body string) []byte { // a batch with one command of the newest level
		b, err := hex.DecodeString(body)
		if err != nil {
			t.Fatal(err)
		}
		head := []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01\x00")
		return append(append(head, byte(level.Newest), byte(len(b))), b...)
	}
	for _, c := range []struct {
		what string
		data []byte
		is   error
		says string
	}{
		{"empty", nil, shard.ErrBadBatch, "cut short"},
		{"newer", change(0, 9), shard.ErrNewerFormat, "format 9"},
		{"format zero", change(0, 0), shard.ErrBadBatch, "format 0"},
		{"too many commands", change(10, 0x7f), shard.ErrBadBatch, "more commands"},
		{"level zero", change(12, 0), shard.ErrBadBatch, "level 0"},
		{"kind zero", change(14, 0), shard.ErrBadBatch, "kind 0"},
		{"unknown kind", change(14, 199), shard.ErrNewerFormat, "a command with kind 199"},
		{"unknown field", leveled("13" + "0080" + "40" + "05"), shard.ErrNewerFormat, "fields 0x400000"},
		{"unknown field of the fourth byte", leveled("13" + "0080" + "80" + "40" + "05"), shard.ErrNewerFormat,
			"fields 0x40000000"},
		{"unknown field of the last byte", leveled("13" + "0080" + "80" + "80" + "80" + "80" + "80" + "80" + "05"),
			shard.ErrNewerFormat, "fields 0x8000000000000000"},
		{"no third byte of fields", leveled("13" + "0080"), shard.ErrBadBatch, "cut short"},
		{"no fourth byte of fields", leveled("13" + "0080" + "90"), shard.ErrBadBatch, "cut short"},
		{"a third byte of no field", leveled("13" + "0080" + "00"), shard.ErrBadBatch, "an empty field byte"},
		{"a fourth byte of no field", leveled("13" + "0080" + "90" + "00" + "05"), shard.ErrBadBatch,
			"an empty field byte"},
		{"a body without bytes", leveled("13" + "0080" + "80" + "01" + "00"), shard.ErrBadBatch, "body without bytes"},
		{"a body that is cut", leveled("13" + "0080" + "80" + "01" + "05" + "61"), shard.ErrBadBatch,
			"beyond its bytes"},
		{"unknown flag", leveled("13" + "0100" + "80"), shard.ErrNewerFormat, "flags 0x80"},
		{"level too high for this build", leveled("09" + "0002" + "c901"), shard.ErrNewerFormat, "level to 200"},
		{"bytes behind the fields", leveled("01" + "0000" + "00"), shard.ErrBadBatch, "behind the last field"},
		{"tail", append(bytes.Clone(good), 1), shard.ErrBadBatch, "behind the last command"},
		{"cut", good[:len(good)-1], shard.ErrBadBatch, "command 0"},
	} {
		var b shard.Batch
		err := shard.DecodeBatch(c.data, &b, level.Newest)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.what, err)
		}
		if len(b.Commands) != 0 {
			t.Errorf("%s: left %d commands behind", c.what, len(b.Commands))
		}
	}
}

// TestBatchesKeepTheirForm: logs contain these bytes.
func TestBatchesKeepTheirForm(t *testing.T) {
	const head = "0500000000000000" + "07" + "01" // proposer 5, sequence 7, one command
	update := shard.Command{Kind: shard.CmdSemaphoreUpdate, Node: 17, Session: 0x0102030405060708, Number: 3, Acked: 2,
		Name: []byte("ab"), Data: []byte("c"), Order: 9}
	guarded := shard.Command{Kind: shard.CmdSemaphoreUpdate, Node: 17, Name: []byte("ab"), Data: []byte("c"),
		Revision: 300}
	timed := shard.Command{Kind: shard.CmdAcquire, Node: 17, Session: 0x0102030405060708, Number: 3, Name: []byte("ab"),
		Count: 1, Timeout: shard.Forever, Time: 300}
	bodied := shard.Command{Kind: shard.CmdSemaphoreUpdate, Node: 17, Name: []byte("ab"), Body: []byte("xyz")}
	all := bodied
	all.Revision, all.Bytes = 300, 4
	for body, want := range map[string]shard.Command{
		"11" + "fc08" + "11" + "0807060504030201" + "03" + "02" + "026162" + "0163" + "09":        update,
		"11" + "c480" + "01" + "11" + "026162" + "0163" + "ac02":                                  guarded,
		"13" + "5c86" + "04" + "11" + "0807060504030201" + "03" + "026162" + "02" + "00" + "ac02": timed,
		"11" + "4480" + "80" + "01" + "11" + "026162" + "0378797a":                                bodied,
		"11" + "4480" + "91" + "01" + "11" + "026162" + "ac02" + "04" + "0378797a":                all,
	} {
		batch := shard.Batch{Proposer: 5, Sequence: 7, Commands: []shard.Command{want}}
		written := fmt.Sprintf("01"+head+"00"+"01%02x"+body, len(body)/2)
		if got := hex.EncodeToString(shard.AppendBatch(nil, &batch)); got != written {
			t.Errorf("%+v is written as %s, was %s", want, got, written)
		}
		data, err := hex.DecodeString(written)
		if err != nil {
			t.Fatal(err)
		}
		var got shard.Batch
		if err := shard.DecodeBatch(data, &got, level.Newest); err != nil || !sameBatch(&got, &batch) {
			t.Errorf("%s is read as %+v, %v", written, got.Commands, err)
		}
	}
}

// TestStampsKeepTheirForm: the flags follow the number of commands, and the stamp follows the flags.
func TestStampsKeepTheirForm(t *testing.T) {
	const head = "0500000000000000" + "07" + "01"
	batch := shard.Batch{Proposer: 5, Sequence: 7, Stamp: clock.Stamp{Term: 9, Elapsed: 300},
		Commands: []shard.Command{{Level: 1, Kind: shard.CmdDue, Term: 9}}}
	for written, want := range map[string]shard.Batch{
		"01" + head + "01" + "09" + "ac02" + "01" + "04" + "0e" + "0010" + "09": batch,
		"01" + head + "00" + "01" + "04" + "0e" + "0010" + "09": {Proposer: 5, Sequence: 7,
			Commands: batch.Commands},
	} {
		data, _ := hex.DecodeString(written)
		var got shard.Batch
		if err := shard.DecodeBatch(data, &got, level.Newest); err != nil || !sameBatch(&got, &want) {
			t.Errorf("%s is read as %+v, %v", written, got, err)
		}
	}
	if got := hex.EncodeToString(shard.AppendBatch(nil, &batch)); !strings.HasPrefix(got,
		"01"+head+"01"+"09"+"ac02"+"01") {
		t.Errorf("it is written as %s", got)
	}
	for bad, is := range map[string]error{"02": shard.ErrNewerFormat, "81": shard.ErrNewerFormat,
		"010000": shard.ErrBadBatch, "0109": shard.ErrBadBatch} {
		data, _ := hex.DecodeString("01" + head + bad)
		if err := shard.DecodeBatch(data, &batch, level.Newest); !errors.Is(err, is) {
			t.Errorf("flags %s: %v", bad, err)
		}
	}
}

func TestDecodeBatchAllocatesNoMoreThanItsBytesAskFor(t *testing.T) {
	// A batch that claims 16 million sessions and contains none.
	data := shard.AppendBatch(nil,
		&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionsForget, Sessions: []shard.SessionID{1}}}})
	huge := append(data[:len(data)-9], 0xff, 0xff, 0xff, 0x07)
	var b shard.Batch
	allocated := testing.Benchmark(func(tb *testing.B) {
		tb.ReportAllocs()
		for range tb.N {
			if shard.DecodeBatch(huge, &b, level.Newest) == nil {
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
		b := shard.Batch{Proposer: rng.Uint64(), Stamp: randomStamp(rng),
			Commands: []shard.Command{randomCommand(rng), randomCommand(rng)}}
		f.Add(shard.AppendBatch(nil, &b))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b, again shard.Batch
		if shard.DecodeBatch(data, &b, level.Newest) != nil {
			return
		}
		if err := shard.DecodeBatch(shard.AppendBatch(nil, &b), &again, level.Newest); err != nil {
			t.Fatal(err)
		}
		if !sameBatch(&b, &again) {
			t.Fatalf("have %+v\nwant %+v", again, b)
		}
		// Whatever can be decoded can be applied.
		var out shard.Effects
		m := machine.New(kinds.All(), machine.Options{})
		m.Apply(&b, &out)
		results := 0
		for _, e := range out.List {
			if e.Kind == shard.EffectResult {
				results++
			}
		}
		if results != len(b.Commands) {
			t.Fatalf("%d results for %d commands", results, len(b.Commands))
		}
	})
}
