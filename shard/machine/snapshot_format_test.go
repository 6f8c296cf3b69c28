package machine

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

var writeSnapshot = flag.Bool("snapshot.write", false,
	"write the snapshot of a format that has none yet into testdata/snapshots")

// TestSnapshotsOfAFormatAreWhatTheyWere reads a file written when the format got its number, and writes it again. After
// a change of the bytes, increase snapshotFormat, and create its file with -snapshot.write.
func TestSnapshotsOfAFormatAreWhatTheyWere(t *testing.T) {
	path := filepath.Join("testdata", "snapshots", fmt.Sprint("format", snapshotFormat))
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && *writeSnapshot {
		m := New(TestKinds, Options{})
		newBusy(m, 1).steps(100)
		m = machinetest.Copy(t, m, New(TestKinds, Options{})) // removes gaps
		want = machinetest.File(t, m)
		err = os.WriteFile(path, want, 0o644)
	}
	if err != nil {
		t.Fatalf("format %d has no file: %v", snapshotFormat, err)
	}
	m := New(TestKinds, Options{})
	if err := m.Restore(bytes.NewReader(want)); err != nil {
		t.Fatalf("a snapshot of format %d cannot be read any more: give the new form a number of its own: %v",
			snapshotFormat, err)
	}
	if got := machinetest.File(t, m); !bytes.Equal(got, want) {
		t.Errorf("a snapshot of format %d has other bytes now: give the new form a number of its own", snapshotFormat)
	}
	if m.core.Sessions.End() < 10 || m.core.Objects.End() < 10 || m.core.Holdings.End() < 10 {
		t.Error("there is little in the file")
	}
}

func TestASnapshotOfAnotherFormatIsRefusedWithItsNumber(t *testing.T) {
	file := machinetest.File(t, New(TestKinds, Options{}))
	for format, want := range map[int]error{0: ErrBadSnapshot, snapshotFormat + 1: shard.ErrNewerFormat} {
		other := bytes.Clone(file)
		other[len(snapshotMagic)] = byte(format)
		err := New(TestKinds, Options{}).Restore(bytes.NewReader(other))
		if !errors.Is(err, want) || !strings.Contains(err.Error(), fmt.Sprint("format ", format)) {
			t.Errorf("%v, want %v and the number", err, want)
		}
	}
}
