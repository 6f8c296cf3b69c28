package shard_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/twin"
)

var writeReplay = flag.String("replay.write", "",
	"write a log and its snapshots, as this build makes them, into testdata/replay/NAME")

const (
	replayCommands  = 4000
	replaySnapshots = 6
	replaySeed      = 16 // of a long run
)

// replayBounds are so small that the logs have much that is pending, and sessions with all the links that they may
// have.
var replayBounds = shard.Bounds{Work: 3, SessionLinks: 4}

// TestLogsOfEarlierBuildsReplayToWhatTheyDid replays the logs that earlier builds wrote, from every snapshot that they
// saved on the way, and compares the state at every later snapshot with what those builds had there. A rule of an
// existing command that was changed in place shows here. Each directory was made by the build that it is named after,
// with
//
//	go test ./shard -run TestLogsOfEarlierBuildsReplayToWhatTheyDid -replay.write NAME
func TestLogsOfEarlierBuildsReplayToWhatTheyDid(t *testing.T) {
	root := filepath.Join("testdata", "replay")
	if *writeReplay != "" {
		writeReplayMaterial(t, filepath.Join(root, *writeReplay))
	}
	builds, err := os.ReadDir(root)
	if err != nil || len(builds) == 0 {
		t.Fatalf("no logs of earlier builds: %v", err)
	}
	for _, build := range builds {
		t.Run(build.Name(), func(t *testing.T) {
			batches, snapshots := readReplayMaterial(t, filepath.Join(root, build.Name()))
			for from := range snapshots {
				if snapshots[from] == nil {
					continue
				}
				if err := replayFrom(t, batches, snapshots, from, nil); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// replayFrom restores the snapshot that was saved after the first batches, replays the rest, and says where the state
// is not what it was. Each batch may be changed before it is applied.
func replayFrom(t *testing.T, batches, snapshots [][]byte, from int,
	change func(m *shard.Machine, b *shard.Batch)) error {
	t.Helper()
	m := restoredFrom(t, snapshots[from])
	var batch shard.Batch
	var effects shard.Effects
	for i := from; ; i++ {
		if i > from && snapshots[i] != nil {
			want := restoredFrom(t, snapshots[i]).State()
			got := m.State()
			if change != nil {
				want.Level = got.Level
			}
			if !reflect.DeepEqual(got, want) {
				return fmt.Errorf("replayed from batch %d to %d, this build has something else (- as it was, + "+
					"now):\n%s",
					from, i, twin.Difference(twin.StateText(&got), twin.StateText(&want)))
			}
		}
		if i == len(batches) {
			return nil
		}
		if err := shard.DecodeBatch(batches[i], &batch, m.Level()); err != nil {
			return fmt.Errorf("batch %d: %w", i, err)
		}
		if change != nil {
			change(m, &batch)
		}
		effects.Reset()
		m.Apply(&batch, &effects)
	}
}

// TestARuleThatWasChangedInPlaceIsNoticed: a rule that is changed in place does with old entries what it should do with
// those of its level only. Here the rules of the newest level are followed by the log of an earlier build: the replay
// must notice.
func TestARuleThatWasChangedInPlaceIsNoticed(t *testing.T) {
	if level.Newest == level.First {
		t.Skip("this build has no rule of a later level")
	}
	batches, snapshots := readReplayMaterial(t, filepath.Join("testdata", "replay", "before-levels"))
	err := replayFrom(t, batches, snapshots, 0, func(m *shard.Machine, b *shard.Batch) {
		if m.Level() < level.Newest {
			var none shard.Effects
			m.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdLevel, Count: uint64(level.Newest)}}}, &none)
		}
		b.Stamp.Term = m.Term()
		for i := range b.Commands {
			b.Commands[i].Level = level.Newest
		}
	})
	if err == nil {
		t.Error("nothing was noticed")
	}
}

func restoredFrom(t *testing.T, snapshot []byte) *shard.Machine {
	t.Helper()
	m := shard.New(shard.Options{Bounds: replayBounds})
	if err := m.Restore(bytes.NewReader(snapshot)); err != nil {
		t.Fatal(err)
	}
	return m
}

// readReplayMaterial returns the batches of a log, and the snapshots by how many batches came before each.
func readReplayMaterial(t *testing.T, dir string) (batches, snapshots [][]byte) {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "log.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	log, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	for len(log) > 0 {
		n := binary.LittleEndian.Uint32(log)
		batches = append(batches, log[4:4+n])
		log = log[4+n:]
	}
	snapshots = make([][]byte, len(batches)+1)
	found := 0
	for i := range snapshots {
		if file, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("snapshot-%d", i))); err == nil {
			snapshots[i] = file
			found++
		}
	}
	if len(batches) < 100 || found < replaySnapshots || snapshots[0] == nil || snapshots[len(batches)] == nil {
		t.Fatalf("%s: %d batches and %d snapshots; the first and the last state are needed", dir, len(batches), found)
	}
	return batches, snapshots
}

func writeReplayMaterial(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	source := twin.NewGenerator(replaySeed)
	m := shard.New(shard.Options{Slots: source.Options().Slots, Bounds: replayBounds})
	var log []byte
	var effects shard.Effects
	batches, commands := 0, 0
	snapshot := func() {
		fixed, err := m.PrepareSnapshot()
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := fixed.Save(&file, nil); err != nil {
			t.Fatal(err)
		}
		fixed.Discard()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("snapshot-%d", batches)), file.Bytes(),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	snapshot()
	for next := replayCommands / replaySnapshots; commands < replayCommands; batches++ {
		if commands >= next {
			snapshot()
			next += replayCommands / replaySnapshots
		}
		state := m.State()
		b := source.Batch(&state)
		for i := range b.Commands {
			if b.Commands[i].Kind.String() == fmt.Sprintf("command-%d", b.Commands[i].Kind) {
				b.Commands[i] = shard.Command{Kind: shard.CmdLead} // hosts propose what they know only
			}
		}
		data := shard.AppendBatch(nil, b)
		log = binary.LittleEndian.AppendUint32(log, uint32(len(data)))
		log = append(log, data...)
		effects.Reset()
		m.Apply(b, &effects)
		commands += len(b.Commands)
	}
	snapshot()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(log)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "log.gz"), packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
