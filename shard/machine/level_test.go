package machine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/protocol/level/leveltest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// above encodes a batch with one command above the level, unknown to every build.
func above(at level.Level) []byte {
	garbage := []byte{0xff, 0xff, 0xff, 0xff, 0x80}
	data := append([]byte{1}, make([]byte, 8)...)
	data = append(data, 1, 1, 0, byte(at), byte(len(garbage)))
	return append(data, garbage...)
}

func TestWhatIsAboveTheLevelIsRefusedWithoutBeingDecoded(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 3).steps(30)
	before := m.Digest()
	var b shard.Batch
	if err := shard.DecodeBatch(above(level.First+1), &b, m.Level()); err != nil {
		t.Fatal(err)
	}
	var out shard.Effects
	m.Apply(&b, &out)
	if len(out.List) != 1 || out.List[0].Kind != shard.EffectResult ||
		out.List[0].Status != protocol.StatusUnsupported {
		t.Fatalf("%+v", out.List)
	}
	if m.Digest() != before {
		t.Error("a refused command changed something")
	}
	// At the command's level the same bytes stop the replica.
	if err := shard.DecodeBatch(above(level.First), &b, level.First); !errors.Is(err, shard.ErrNewerFormat) {
		t.Errorf("%v", err)
	}
}

// TestALevelRisesWithTheNextBatch: one batch raises the level and has a command above the old level. All replicas
// refuse the command, including replicas that decode the batch after the level has risen elsewhere.
func TestALevelRisesWithTheNextBatch(t *testing.T) {
	leveltest.Raise(t)
	m := New(TestKinds, Options{})
	const to = leveltest.Later
	var out shard.Effects
	m.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdLevel, Count: uint64(to)},
		{Level: to, Kind: shard.CmdLead, Term: 1}}}, &out)
	if out.List[0].Status != protocol.StatusSuccess || out.List[1].Status != protocol.StatusUnsupported {
		t.Errorf("%+v", out.List)
	}
	if m.Level() != to {
		t.Errorf("level %d after the batch", m.Level())
	}
	m.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdLevel, Count: uint64(level.First)}}}, &out)
	if m.Level() != to {
		t.Errorf("the level fell to %d", m.Level())
	}
}

// TestReplicaStopsAtALevelThatItsBuildCannotFollow: a newer host raised the shard's level.
func TestReplicaStopsAtALevelThatItsBuildCannotFollow(t *testing.T) {
	rise := shard.AppendBatch(nil,
		&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdLevel, Count: uint64(leveltest.Later)}}})
	var b shard.Batch
	if err := shard.DecodeBatch(rise, &b, level.First); !errors.Is(err, shard.ErrNewerFormat) || len(b.Commands) != 0 {
		t.Errorf("%v, %d commands", err, len(b.Commands))
	}
	leveltest.Raise(t)
	if err := shard.DecodeBatch(rise, &b, level.First); err != nil {
		t.Errorf("a build that can follow: %v", err)
	}
}

// changedHeader returns a snapshot with a changed header and a valid checksum.
func changedHeader(file []byte, change func(payload []byte) []byte) []byte {
	start := len(snapshotMagic) + 4
	size := binary.LittleEndian.Uint32(file[start+1:])
	payload := change(bytes.Clone(file[start+5 : start+5+int(size)]))
	out := append(bytes.Clone(file[:start]), blockHeader)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(payload)))
	out = append(out, payload...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out[start:], castagnoli))
	return append(out, file[start+5+int(size)+4:]...)
}

func TestASnapshotOfAnotherLevelIsRefusedOrTakenWhole(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 4).steps(20)
	file := machinetest.File(t, m)
	beyond := changedHeader(file, func(p []byte) []byte { p[0] = byte(level.Newest + 1); return p })
	if err := New(TestKinds, Options{}).Restore(bytes.NewReader(beyond)); !errors.Is(err, shard.ErrNewerFormat) ||
		!strings.Contains(err.Error(), "level") {
		t.Errorf("a snapshot above the newest level: %v", err)
	}
	longer := changedHeader(file, func(p []byte) []byte { return append(p, 1) })
	if err := New(TestKinds, Options{}).Restore(bytes.NewReader(longer)); !errors.Is(err, ErrBadSnapshot) {
		t.Errorf("a header with a field that is not of its level: %v", err)
	}
}

func TestRecordsWithMoreThanTheirLevelHasAreRefused(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 5).steps(60)
	for p, h := range map[phase]arena.Handle{phaseSessions: m.core.Sessions.End() - 1,
		phaseObjects: m.core.Objects.End() - 1, phaseLinks: m.core.Holdings.End() - 1} {
		for ; !m.core.Snapshots.isOlder(p, h, m.core.Snapshots.epoch+1); h-- {
		}
		record := m.core.Snapshots.appendRecord(nil, p, h, withPlaces)[4:]
		rs := restorer{m: New(TestKinds, Options{}).core}
		rs.m.Sessions.last, rs.m.lastRevision = m.core.Sessions.last, m.core.lastRevision
		if err := rs.record(p, append(record, 0)); err == nil {
			t.Errorf("a record of part %d with a byte more was taken", p)
		}
	}
}

// TestADigestIsOfTheMomentAtWhichItWasBegun: a digest is computed concurrently with Apply, from the state at its start.
func TestADigestIsOfTheMomentAtWhichItWasBegun(t *testing.T) {
	m := New(TestKinds, Options{})
	busy := newBusy(m, 6)
	busy.steps(300)
	want := m.Digest()
	d := m.BeginDigest()
	defer d.Close()
	for done := false; !done; {
		busy.steps(3)
		var ok bool
		if done, ok = d.Step(); !ok {
			t.Fatal("nothing was replaced")
		}
	}
	if d.Sum() != want {
		t.Errorf("%x, not %x", d.Sum(), want)
	}
	if m.Digest() == want {
		t.Error("another state has the same digest")
	}
	abandoned := m.BeginDigest()
	defer abandoned.Close()
	if err := m.Restore(bytes.NewReader(machinetest.File(t, m))); err != nil {
		t.Fatal(err)
	}
	if _, ok := abandoned.Step(); ok {
		t.Error("the state was replaced, and the digest goes on")
	}
}
