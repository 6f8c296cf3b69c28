package meta

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var writeReplay = flag.String("replay.write", "",
	"write a log and its snapshots, as this build makes them, into testdata/replay/NAME")

const (
	replayCommands = 2000
	replayEvery    = 400 // commands from snapshot to snapshot
)

// TestLogsOfEarlierBuildsReplayToWhatTheyDid is the test of the same name of package shard, for this machine. Each
// directory was made by the build that it is named after, with
//
//	go test ./shard/meta -run TestLogsOfEarlierBuildsReplayToWhatTheyDid -replay.write NAME
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
			dir := filepath.Join(root, build.Name())
			log, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil {
				t.Fatal(err)
			}
			var batches [][]byte
			for len(log) > 0 {
				n := binary.LittleEndian.Uint32(log)
				batches = append(batches, log[4:4+n])
				log = log[4+n:]
			}
			for from := 0; from < len(batches); from += replayEvery {
				replayFrom(t, dir, batches, from)
			}
		})
	}
}

// replayFrom restores the snapshot that was saved after the first batches and replays the rest.
func replayFrom(t *testing.T, dir string, batches [][]byte, from int) {
	t.Helper()
	restored := func(at int) *Machine {
		file, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("snapshot-%d", at)))
		if err != nil {
			t.Fatal(err)
		}
		m := New()
		if err := m.Restore(bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := restored(from)
	var batch Batch
	var effects Effects
	for i, data := range batches[from:] {
		if err := DecodeBatch(data, &batch, m.Level()); err != nil {
			t.Fatalf("batch %d: %v", from+i, err)
		}
		effects.Reset()
		m.Apply(&batch, &effects)
		if at := from + i + 1; at%replayEvery == 0 {
			if got, want := m.State(), restored(at).State(); !reflect.DeepEqual(got, want) {
				t.Fatalf("replayed from batch %d to %d, this build has\n%+v\nthe one that wrote the log had\n%+v", from,
					at, got, want)
			}
		}
	}
}

func writeReplayMaterial(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := newCommands(12)
	m := New()
	var log []byte
	write("snapshot-0", saved(t, m))
	for n := 1; n <= replayCommands; n++ {
		c := g.one(m)
		for c.Level > m.Level() { // hosts propose what the level allows
			c = g.one(m)
		}
		b := Batch{Proposer: 1, Sequence: uint64(n), Commands: []Command{c}}
		data := encoded(t, &b)
		log = binary.LittleEndian.AppendUint32(log, uint32(len(data)))
		log = append(log, data...)
		var out Effects
		m.Apply(&b, &out)
		if n%replayEvery == 0 {
			write(fmt.Sprintf("snapshot-%d", n), saved(t, m))
		}
	}
	write("log", log)
}
