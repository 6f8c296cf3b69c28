package identity

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

// TestTheLevelOnRecordOnlyRises: a build below the data's level is detected, whatever ran in between.
func TestTheLevelOnRecordOnlyRises(t *testing.T) {
	path := newDirectory(t)
	if l, err := ReadLevel(path); l != 0 || err != nil {
		t.Fatalf("a directory without a record is of level %d, %v", l, err)
	}
	d := claim(t, path)
	for _, step := range []struct{ note, want uint8 }{{5, 5}, {6, 6}, {5, 6}, {6, 6}} {
		err := d.NoteLevel(level.Level(step.note))
		if got, readErr := ReadLevel(path); got != level.Level(step.want) || errors.Join(err, readErr) != nil {
			t.Errorf("level %d was noted, and %d is on record: %v, %v", step.note, got, err, readErr)
		}
	}
	d.Release()
	d = claim(t, path)
	if err := d.NoteLevel(3); err != nil {
		t.Error(err)
	}
	if l, _ := ReadLevel(path); l != 6 {
		t.Errorf("another process has taken the level back to %d", l)
	}
	// A damaged record has no effect, and is no reason to stop.
	if err := os.WriteFile(filepath.Join(path, LevelName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLevel(path); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged record is read: %v", err)
	}
	if err := d.NoteLevel(6); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(path, LevelName))
	if err != nil || !strings.Contains(string(text), "\n    \"level\": 6\n") {
		t.Errorf("scripts of packages look for a line with the level: %s, %v", text, err)
	}
	d.Release()
}
