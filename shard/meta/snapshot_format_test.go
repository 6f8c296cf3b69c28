package meta

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var writeSnapshot = flag.Bool("snapshot.write", false,
	"write the snapshot of a format that has none yet into testdata/snapshots")

// TestSnapshotsOfAFormatAreWhatTheyWere reads a file written when the format got its number, and writes it again. After
// a change of the bytes, increase snapshotFormat, and run this test with -snapshot.write.
func TestSnapshotsOfAFormatAreWhatTheyWere(t *testing.T) {
	path := filepath.Join("testdata", "snapshots", fmt.Sprint("format", snapshotFormat))
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && *writeSnapshot {
		want = saved(t, furnished())
		err = os.WriteFile(path, want, 0o644)
	}
	if err != nil {
		t.Fatalf("format %d has no file: %v", snapshotFormat, err)
	}
	m := New()
	if err := m.Restore(bytes.NewReader(want)); err != nil {
		t.Fatalf("a snapshot of format %d cannot be read any more: give the new form a number of its own: %v",
			snapshotFormat, err)
	}
	if got := saved(t, m); !bytes.Equal(got, want) {
		t.Errorf("a snapshot of format %d has other bytes now: give the new form a number of its own", snapshotFormat)
	}
	if s := m.State(); len(s.Nodes) < 2 || len(s.Hosts) < 2 || len(s.Dropping) < 1 {
		t.Error("there is little in the file")
	}
}
