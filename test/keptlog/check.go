package keptlog

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

// Check holds this build against all logs of a directory: each batch is read and written again as it is there, each
// snapshot is restored and saved as it is there, and from each snapshot on the log leads to the digest of each later
// one. There is a log of each name for each level below the newest, from the one on that the name stands for.
func Check(t *testing.T, dir string, names map[string]level.Level, empty func() Machine) {
	t.Helper()
	for name, first := range names {
		for at := first; at < level.Newest; at++ { // of the newest one there may be more to come
			if _, err := read(filepath.Join(dir, FileName(at, name))); err != nil {
				t.Errorf("level %d has no frozen log of %s: %v", at, name, err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "level-*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no frozen logs in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".gz"), func(t *testing.T) {
			log, err := read(file)
			if err != nil {
				t.Fatal(err)
			}
			if log.Level > level.Newest {
				t.Skipf("this build cannot follow level %d", log.Level)
			}
			if err := log.Check(empty); err != nil {
				t.Errorf("level %d is frozen, and this build does otherwise there: %v", log.Level, err)
			}
		})
	}
}

// FileName is the name of the file of a log.
func FileName(at level.Level, name string) string { return fmt.Sprintf("level-%d-%s.gz", at, name) }

// Check says where machines of this build do otherwise than the log has it.
func (l *Log) Check(empty func() Machine) error {
	places := slices.Sorted(maps.Keys(l.Snapshots))
	if len(places) < 3 || places[0] != 0 || places[len(places)-1] != len(l.Batches) {
		return fmt.Errorf("a log of %d batches with snapshots at %v: the first and the last state are needed",
			len(l.Batches), places)
	}
	for _, from := range places {
		m := empty()
		if err := m.Restore(l.Snapshots[from].File); err != nil {
			return fmt.Errorf("the snapshot after %d batches: %w", from, err)
		}
		if file, err := m.Save(); err != nil || !bytes.Equal(file, l.Snapshots[from].File) {
			return fmt.Errorf("the snapshot after %d batches is saved with other bytes (%v)", from, err)
		}
		if err := l.replay(m, from); err != nil {
			return fmt.Errorf("from the snapshot after %d batches on: %w", from, err)
		}
	}
	return nil
}

func (l *Log) replay(m Machine, from int) error {
	for i := from; ; i++ {
		if s, ok := l.Snapshots[i]; ok && m.Digest() != s.Digest {
			return fmt.Errorf("after batch %d the digest is %x, and was %x", i, m.Digest(), s.Digest)
		}
		if i == len(l.Batches) {
			return nil
		}
		again, err := m.Apply(l.Batches[i])
		if err != nil {
			return fmt.Errorf("batch %d: %w", i, err)
		}
		if again != nil && !bytes.Equal(again, l.Batches[i]) {
			return fmt.Errorf("batch %d is written as\n%x, and was\n%x", i, again, l.Batches[i])
		}
	}
}
