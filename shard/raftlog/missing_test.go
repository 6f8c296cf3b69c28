package raftlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// named returns matching files below a directory.
func named(t *testing.T, dir string, is func(path string) bool) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && is(path) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatal("no such file", err)
	}
	return found
}

func isSegment(path string) bool { return filepath.Ext(path) == ".wal" }

// refusedWithout removes a file, and checks that the host names it and opens again when it is back.
func refusedWithout(t *testing.T, one *member, path string) {
	t.Helper()
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	host, err := Open(one.config)
	if err == nil {
		host.Close()
		t.Fatalf("it opened without %s", path)
	}
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path+" is missing: put it back") {
		t.Errorf("of %s it is said: %v", path, err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	one.open()
}

func TestAHostNamesWhatIsMissing(t *testing.T) {
	one := openOne(t, fewEntries)
	want := one.mustPropose(0, 20)
	eventually(t, "a snapshot", func() bool { return one.host.Status()[0].SnapshotIndex > 0 })
	one.close()
	one.config.Used = true
	refusedWithout(t, one, filepath.Join(one.config.DataDir, recordFile))
	one.close()
	refusedWithout(t, one, named(t, one.config.DataDir, isSegment)[0])
	one.machine.awaitBatches(t, want)
	one.close()
	refusedWithout(t, one, named(t, one.config.DataDir, isSnapshot)[0])
	one.machine.awaitBatches(t, want)
}

func TestASnapshotThatIsMissingIsNamedBeforeTheEngineStops(t *testing.T) {
	d, dir := systemDisk(), t.TempDir()
	var told error
	d.damaged = func(err error) { told = err }
	path := filepath.Join(dir, "snapshot-0000000000000010", "snapshot-0000000000000010"+snapshotSuffix)
	_, err := d.Open(path)
	if !errors.Is(err, ErrDamaged) || told != err || !strings.Contains(err.Error(), path+" is missing") {
		t.Errorf("have %v, told of %v", err, told)
	}
	if _, err := d.Open(filepath.Join(dir, "other")); !errors.Is(err, fs.ErrNotExist) || told == err {
		t.Errorf("have %v of a file that may be missing", err)
	}
}
