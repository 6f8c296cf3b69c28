package meta

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// everyCommand has one command per kind, with distinct values in every used field.
func everyCommand() []Command {
	full := Config{
		SelfCheckPeriodMillis: 1<<64 - 1, SessionGracePeriodMillis: 300,
		ReadConsistency: protocol.ConsistencyStrict, AttachConsistency: 2, RateLimiterCountersMode: 255,
	}
	full.QuotaObjects, full.QuotaBytes = 300, 1<<64-1
	full.Asked = protocol.AskedConfig{
		SelfCheckPeriodMillis: 1<<64 - 1, SessionGracePeriodMillis: 1, ReadConsistency: 2, AttachConsistency: 300,
		RateLimiterCountersMode: 4,
	}
	numbered := Numbered{}
	numbered = Numbered{Client: ClientID{1, 15: 2}, Number: 1<<64 - 1, Since: 300}
	list := []Command{
		{Kind: CmdNodeCreate, Path: "/a/b", Config: full, Numbered: numbered},
		{Kind: CmdNodeAlter, Path: "a b\x00", Node: 300, Config: full, Expected: 7},
		{Kind: CmdNodeDrop, Path: "", Node: 1<<64 - 1},
		{Kind: CmdGraceConfirmed, Node: 5, Expected: 6},
		{Kind: CmdNodeCleared, Node: 7, Shard: 8},
		{Kind: CmdHostRegister, Host: host(9, "h")},
		{Kind: CmdHostObservation, Host: Host{ID: 10}, Expected: 11},
		{Kind: CmdLead, Term: 12},
		{Kind: CmdRoutingInit, Cluster: "c", Shards: []ShardID{3, 1, 1 << 60}},
	}
	for _, r := range everyRequest() {
		list = append(list, NewCommand(r, origin))
	}
	list[len(list)-1].Numbered = numbered
	return list
}

func encoded(t testing.TB, b *Batch) []byte {
	t.Helper()
	out, err := AppendBatch(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestABatchComesBackAsItWas(t *testing.T) {
	stamp := clock.Stamp{Term: 300, Elapsed: 1 << 40}
	for _, b := range []Batch{
		{Proposer: 1, Sequence: 2, Commands: everyCommand()},
		{Proposer: 1, Sequence: 2, Stamp: stamp, Commands: everyCommand()},
		{Proposer: 1<<64 - 1, Sequence: 0, Commands: []Command{}},
	} {
		src := encoded(t, &b)
		got := Batch{Proposer: 99, Commands: everyCommand()[:3]}
		if err := DecodeBatch(src, &got, level.Newest); err != nil {
			t.Fatal(err)
		}
		clear(src) // no decoded value may alias src
		for i := range got.Commands {
			got.Commands[i].Level = 0
		}
		if !reflect.DeepEqual(got, b) {
			t.Errorf("got %+v\nwant %+v", got, b)
		}
	}
}

// TestTheEncodedFormIsFixed: the bytes are in logs on disk and must not change.
func TestTheEncodedFormIsFixed(t *testing.T) {
	got := encoded(t, &Batch{Proposer: 1, Sequence: 2, Commands: []Command{
		{Kind: CmdNodeCreate, Path: "/a", Config: cfg(1000, 0)},
		{Kind: CmdNodeCleared, Node: 300, Shard: 3},
	}})
	const batch = "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" + "\x02"
	const create = "\x02/a" + "\xe8\x07" + "\x00" + "\x00\x00\x00"
	const cleared = "\xac\x02" + "\x03"
	want := "\x01" + batch + "\x00" + "\x01\x0f" + "\x01\x00" + create + "\x00\x00\x00\x00" + "\x01\x05" + "\x05\x00" +
		cleared
	if string(got) != want {
		t.Errorf("%x\nwant %x", got, want)
	}
}

// TestConfigsKeepTheirForm: logs contain these bytes.
func TestConfigsKeepTheirForm(t *testing.T) {
	c := Command{Kind: CmdNodeCreate, Path: "/a", Config: Config{
		SelfCheckPeriodMillis: 1000, QuotaObjects: 5, QuotaBytes: 300, LongestWaitMillis: 7,
	}}
	src := encoded(t, &Batch{Commands: []Command{c}})
	const want = "\x01\x10\x01\x00" + "\x02/a\xe8\x07\x00\x00\x00\x00" + "\x05\xac\x02" + "\x00" + "\x07"
	if got := string(src[19:]); got != want {
		t.Errorf("%x, want %x", got, want)
	}
	var b Batch
	if err := DecodeBatch(src, &b, level.Newest); err != nil || b.Commands[0].Config != c.Config {
		t.Errorf("%+v came back as %+v, %v", c, b.Commands, err)
	}
}

func TestABrokenBatchIsRefusedByName(t *testing.T) {
	head := func(count uint64, rest string) []byte {
		b := append([]byte{batchVersion}, make([]byte, 16)...)
		return append(append(binary.AppendUvarint(b, count), 0), rest...)
	}
	long := strings.Repeat("\xff", 11)
	one := func(kind byte, fields string) string {
		return "\x01" + string(rune(len(fields)+2)) + string([]byte{kind, 0}) + fields
	}
	for _, c := range []struct {
		want string
		src  []byte
	}{
		{"cut short", nil},
		{"version 9; this host knows version", append([]byte{9}, head(0, "")[1:]...)},
		{"version 0;", make([]byte, 18)},
		{"cut short", head(0, "")[:4]},
		{"cut short", head(0, "")[:9]},
		{"a number is cut off", head(0, "")[:17]},
		{"a number is cut off", append(head(0, "")[:17], long...)},
		{"more commands than it has bytes", head(9, "")},
		{"16385 commands; at most 16384", head(shard.MaxBatch+1, strings.Repeat("x", shard.MaxBatch+1))},
		{"1 bytes stand behind", head(0, "x")},
		{"command 0: a number is cut off", head(1, "\x01")},
		{"command 0: a length beyond its bytes", head(1, "\x01\x05x")},
		{"command 0: unknown kind 9 at level 1: a newer", head(1, one(9, ""))},
		{"command 0: level 0", head(1, "\x00\x01\x01")},
		{"command 0: cut short", head(1, "\x01\x00")},
		{"command 0: node-create: a text of 127 bytes", head(1, one(1, "\x7fab"))},
		{"command 0: node-create: cut short", head(1, one(1, "\x02/a\x00\x00\x00\x00"))},
		{"node-create: 1 bytes stand behind", head(1, one(1, "\x02/a\x00\x00\x00\x00\x00\x00\x00\x00\x00!"))},
		{"command 1: settle-grace: a number is cut off", head(2, one(4, "\x01\x01")+one(4, "\x01"))},
		{"command 0: routing-init: a list of 100", head(1, one(32, "\x01c\x64"))},
		{"slot-move: a setting is 65536", head(1, one(80, "\x00\x00\x00\x80\x80\x04\x01\x00\x00"))},
		{"node-cleared: a number is cut off", head(1, one(5, long+"\x01"))},
		{"a rise of the cluster's level to 200", head(1, one(18, "\xc8"))},
	} {
		want, src := c.want, c.src
		b := Batch{Commands: everyCommand()}
		err := DecodeBatch(src, &b, level.Newest)
		if !errors.Is(err, ErrBatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: %v, want an ErrBatch with %q", src[:min(len(src), 40)], err, want)
		}
		if b.Proposer != 0 || len(b.Commands) != 0 {
			t.Errorf("%x: something is left of the batch: %+v", src[:min(len(src), 40)], b)
		}
	}
	var b Batch
	if err := DecodeBatch(make([]byte, shard.MaxBatchBytes+1), &b, level.Newest); err == nil ||
		!strings.Contains(err.Error(), "at most 16777216 bytes") {
		t.Errorf("a batch of too many bytes: %v", err)
	}
}

func TestEveryCutOfABatchIsRefused(t *testing.T) {
	src := encoded(t, &Batch{Commands: everyCommand()})
	for i := range src {
		var b Batch
		if err := DecodeBatch(src[:i], &b, level.Newest); !errors.Is(err, ErrBatch) {
			t.Errorf("%d of %d bytes: %v", i, len(src), err)
		}
	}
}

func TestABatchThatCannotBeDecodedIsNotEncoded(t *testing.T) {
	for want, b := range map[string]*Batch{
		"16385 commands":            {Commands: make([]Command, shard.MaxBatch+1)},
		"command 1: unknown kind 0": {Commands: []Command{drop("/a"), {}}},
		"more than 16777216 bytes":  {Commands: []Command{drop(strings.Repeat("x", shard.MaxBatchBytes))}},
	} {
		out, err := AppendBatch([]byte("kept"), b)
		if !errors.Is(err, ErrBatch) || !strings.Contains(err.Error(), want) || string(out) != "kept" {
			t.Errorf("%q, %v; want an ErrBatch with %q", out[:min(len(out), 20)], err, want)
		}
	}
}

func FuzzDecodeBatch(f *testing.F) {
	for _, c := range everyCommand() {
		f.Add(encoded(f, &Batch{Proposer: 3, Sequence: 4, Commands: []Command{c}}))
	}
	f.Add(encoded(f, &Batch{Commands: everyCommand()}))
	f.Add([]byte{batchVersion})
	f.Fuzz(func(t *testing.T, src []byte) {
		var b, again Batch
		if err := DecodeBatch(src, &b, level.Newest); err != nil {
			if !errors.Is(err, ErrBatch) {
				t.Fatalf("%v is not an ErrBatch", err)
			}
			return
		}
		if slices.ContainsFunc(b.Commands, func(c Command) bool { return c.Level > level.Newest }) {
			return // skipped fields cannot be written again
		}
		if err := DecodeBatch(encoded(t, &b), &again, level.Newest); err != nil || !reflect.DeepEqual(b, again) {
			t.Fatalf("%v: %+v became %+v", err, b, again)
		}
		// Every decodable command can be applied, with the same outcome on every replica.
		m, twin := withHosts(t, "a", "b", "c").Machine, withHosts(t, "a", "b", "c").Machine
		var out, same Effects
		m.Apply(&b, &out)
		twin.Apply(&again, &same)
		if !reflect.DeepEqual(out, same) || m.Digest() != twin.Digest() {
			t.Fatal("two replicas differ")
		}
		mustEqual(t, copyOf(t, m), m)
	})
}
