package meta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// everyCommand has one command of each kind, with every field that the kind uses set to something else.
func everyCommand() []Command {
	full := Config{
		SelfCheckPeriodMillis: 1<<64 - 1, SessionGracePeriodMillis: 300,
		ReadConsistency: protocol.ConsistencyStrict, AttachConsistency: 2, RateLimiterCountersMode: 255,
	}
	if level.Newest >= QuotaLevel {
		full.QuotaObjects, full.QuotaBytes = 300, 1<<64-1
	}
	if level.Newest >= AskedLevel {
		full.Asked = protocol.AskedConfig{
			SelfCheckPeriodMillis: 1<<64 - 1, SessionGracePeriodMillis: 1, ReadConsistency: 2, AttachConsistency: 300,
			RateLimiterCountersMode: 4,
		}
	}
	numbered := Numbered{}
	if level.Newest >= NumbersLevel {
		numbered = Numbered{Client: ClientID{1, 15: 2}, Number: 1<<64 - 1, Since: 300}
	}
	list := []Command{
		{Kind: CmdNodeCreate, Path: "/a/b", Config: full, Numbered: numbered},
		{Kind: CmdNodeAlter, Path: "a b\x00", Node: 300, Config: full, Expected: 7},
		{Kind: CmdNodeDrop, Path: "", Node: 1<<64 - 1},
		{Kind: CmdGraceConfirmed, Node: 5, Expected: 6},
		{Kind: CmdNodeCleared, Node: 7, Shard: 8},
		{Kind: CmdHostRegister, Host: host(9, "h")},
		{Kind: CmdHostSeen, Host: Host{ID: 10}, Expected: 11},
		{Kind: CmdLead, Term: 12},
		{Kind: CmdRoutingInit, Cluster: "c", Shards: []ShardID{3, 1, 1 << 60}},
		{Kind: CmdSlotsAssign, First: 1, Last: 65_535, From: 4, To: 5, Expected: 6},
	}
	if level.Newest >= TopologyLevel {
		for _, r := range everyRequest() {
			list = append(list, NewCommand(r, origin))
		}
		list[len(list)-1].Numbered = numbered
	}
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
	if level.Newest < StampLevel {
		stamp = clock.Stamp{}
	}
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
		clear(src) // nothing may be a view of it
		for i := range got.Commands {
			got.Commands[i].Level = 0
		}
		if !reflect.DeepEqual(got, b) {
			t.Errorf("got %+v\nwant %+v", got, b)
		}
	}
}

// TestTheEncodedFormIsFixed: the bytes stand in logs on disk: they must not change.
func TestTheEncodedFormIsFixed(t *testing.T) {
	got := encoded(t, &Batch{Proposer: 1, Sequence: 2, Commands: []Command{
		{Kind: CmdNodeCreate, Path: "/a", Config: cfg(1000, 0)},
		{Kind: CmdSlotsAssign, First: 1, Last: 300, From: 1, To: 2, Expected: 3},
	}})
	const batch = "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" + "\x02"
	const create = "\x02/a" + "\xe8\x07" + "\x00" + "\x00\x00\x00"
	const assign = "\x01" + "\xac\x02" + "\x01" + "\x02" + "\x03"
	want := "\x02" + batch + "\x01\x0a" + "\x01" + create + "\x01\x07" + "\x21" + assign
	if string(got) != want {
		t.Errorf("%x\nwant %x", got, want)
	}
	// Logs of before the levels have this.
	var b, old Batch
	for src, into := range map[string]*Batch{
		want: &b,
		"\x01" + batch + "\x01\x09" + create + "\x21\x06" + assign: &old,
	} {
		if err := DecodeBatch([]byte(src), into, level.First); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(b, old) {
		t.Errorf("%+v\n%+v", b, old)
	}
}

// TestAnotherFormOfLevel4IsNamed: builds that could follow level 4 and none above wrote configs without what was asked
// for. What a cluster of level 4 cannot read is theirs, in batches as in snapshots.
func TestAnotherFormOfLevel4IsNamed(t *testing.T) {
	body := "\x01" + "\x00" + "\x02/a" + "\xe8\x07" + "\x00" + "\x00\x00\x00" + "\x00\x00" // a node-create
	src := []byte("\x02" + strings.Repeat("\x00", 16) + "\x01" + "\x04" + string(rune(len(body))) + body)
	var b Batch
	if err := DecodeBatch(src, &b, 4); !errors.Is(err, level.ErrUnsettled) || !errors.Is(err, ErrBatch) {
		t.Errorf("at level 4: %v", err)
	}
	if err := DecodeBatch(src, &b, 5); errors.Is(err, level.ErrUnsettled) || !errors.Is(err, ErrBatch) {
		t.Errorf("at level 5: %v", err)
	}
	whole, err := os.ReadFile(filepath.Join("testdata", "snapshots", "level4"))
	if err != nil {
		t.Fatal(err)
	}
	for place := range whole {
		changed := slices.Clone(whole)
		changed[place] ^= 1
		if err := New().Restore(bytes.NewReader(changed)); errors.Is(err, level.ErrUnsettled) {
			t.Fatalf("a snapshot that is damaged at byte %d is taken for one in another form: %v", place, err)
		}
	}
}

// TestAConfigIsWrittenInTheFormOfItsLevel: a host of a cluster of a lower level must be able to read what it gets.
func TestAConfigIsWrittenInTheFormOfItsLevel(t *testing.T) {
	if level.Newest < QuotaLevel {
		t.Skip("this build cannot follow the level that has quotas")
	}
	const below = "\x02/a\xe8\x07\x00\x00\x00\x00"
	for _, c := range []struct {
		command Command
		want    string // level, length, kind and fields
	}{
		{Command{Kind: CmdNodeCreate, Path: "/a", Config: cfg(1000, 0)}, "\x01\x0a\x01" + below},
		{Command{Kind: CmdNodeCreate, Path: "/a", Config: cfg(1000, 0), Level: QuotaLevel - 1}, "\x02\x0a\x01" + below},
		{
			Command{Kind: CmdNodeCreate, Path: "/a", Config: cfg(1000, 0), Level: QuotaLevel},
			"\x03\x0c\x01" + below + "\x00\x00",
		},
		{
			Command{Kind: CmdNodeCreate, Path: "/a", Config: Config{
				SelfCheckPeriodMillis: 1000, QuotaObjects: 5, QuotaBytes: 300,
			}},
			"\x03\x0d\x01" + below + "\x05\xac\x02",
		},
	} {
		src := encoded(t, &Batch{Commands: []Command{c.command}})
		if got := string(src[18:]); got != c.want {
			t.Errorf("%+v: %x, want %x", c.command, got, c.want)
		}
		var b Batch
		if err := DecodeBatch(src, &b, level.Newest); err != nil || b.Commands[0].Config != c.command.Config {
			t.Errorf("%+v came back as %+v, %v", c.command, b.Commands, err)
		}
	}
}

func TestABrokenBatchIsRefusedByName(t *testing.T) {
	head := func(count uint64, rest string) []byte {
		b := append([]byte{batchWithoutStamp}, make([]byte, 16)...)
		return append(binary.AppendUvarint(b, count), rest...)
	}
	long := strings.Repeat("\xff", 11)
	one := func(kind byte, fields string) string {
		return "\x01" + string(rune(len(fields)+1)) + string([]byte{kind}) + fields
	}
	for want, src := range map[string][]byte{
		"version: the byte is missing":                  nil,
		"version 9; this host knows version":            append([]byte{9}, head(0, "")[1:]...),
		"version 0;":                                    make([]byte, 18),
		"proposer: 8 bytes are needed, 3 are left":      head(0, "")[:4],
		"sequence: 8 bytes are needed, 0 are left":      head(0, "")[:9],
		"count: the bytes end within the number":        head(0, "")[:17],
		"count: the number does not fit":                append(head(0, "")[:17], long...),
		"count: 9 entries, but 0 bytes are left":        head(9, ""),
		"16385 commands; at most 16384":                 head(shard.MaxBatch+1, strings.Repeat("x", shard.MaxBatch+1)),
		"1 bytes more than there should be":             head(0, "x"),
		"command 0: body: the bytes end":                head(1, "\x01"),
		"command 0: body: a length of 5, but 1 bytes":   head(1, "\x01\x05x"),
		"command 0: unknown kind 9 at level 1: a newer": head(1, one(9, "")),
		"command 0: level 0":                            head(1, "\x00\x01\x01"),
		"command 0: kind: the byte is missing":          head(1, "\x01\x00"),
		"command 0: node-create: path: a length of 127": head(1, one(1, "\x7fab")),
		"command 0: node-create: rate_limiter":          head(1, one(1, "\x02/a\x00\x00\x00\x00")),
		"node-create: 1 bytes more":                     head(1, one(1, "\x02/a\x00\x00\x00\x00\x00!")),
		"command 1: settle-grace: config version":       head(2, one(4, "\x01\x01")+one(4, "\x01")),
		"command 0: routing-init: shards: 100 entries":  head(1, one(32, "\x01c\x64")),
		"slots-assign: last slot: 65536 is above 65535": head(1, one(33, "\x01\x80\x80\x04\x01\x02\x00")),
		"node-cleared: node: the number does not fit":   head(1, one(5, long+"\x01")),
		"a rise of the cluster's level to 200":          head(1, one(18, "\xc8")),
	} {
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
			return // what was passed over cannot be written again
		}
		if err := DecodeBatch(encoded(t, &b), &again, level.Newest); err != nil || !reflect.DeepEqual(b, again) {
			t.Fatalf("%v: %+v became %+v", err, b, again)
		}
		// Whatever can be decoded can be applied, on every replica with the same outcome.
		m, twin := born(2), born(2)
		if level.Newest >= TopologyLevel {
			m, twin = founded(t, "a", "b", "c").Machine, founded(t, "a", "b", "c").Machine
		}
		var out, same Effects
		m.Apply(&b, &out)
		twin.Apply(&again, &same)
		if !reflect.DeepEqual(out, same) || m.Digest() != twin.Digest() {
			t.Fatal("two replicas differ")
		}
		mustEqual(t, copyOf(t, m), m)
	})
}
