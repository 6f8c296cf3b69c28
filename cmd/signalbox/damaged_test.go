package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/identity"
)

// TestADirectoryThatLacksAFileIsRefusedByItsName: the error names the missing file, and the exit code means that a
// restart does not help.
func TestADirectoryThatLacksAFileIsRefusedByItsName(t *testing.T) {
	p := newPlace(t, "--raft-snapshot-bytes", "64KiB")
	s := p.serve(t)
	s.awaitReady()
	ctx := t.Context()
	c, err := client.Open(ctx, p.Client)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i := 0; len(found) == 0 && i < 10_000; i++ { // each node is a batch in the meta shard
		if _, err := c.CreateNode(ctx, fmt.Sprintf("/n%d", i), client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
		found = savedSnapshots(p.Dir)
	}
	_ = c.Close()
	s.stop()
	found = savedSnapshots(p.Dir)
	segments := filesOf(p.Dir, "*.wal")
	if len(found) == 0 || len(segments) == 0 {
		t.Fatalf("the snapshots are %v, the segments %v", found, segments)
	}
	record := filepath.Join(p.Dir, identity.LogName, "host.json")
	for _, path := range []string{found[len(found)-1], segments[0], record} {
		away := filepath.Join(t.TempDir(), "away")
		if err := os.Rename(path, away); err != nil {
			t.Fatal(err)
		}
		again := p.serve(t)
		code := again.wait(patience)
		if text := again.Errors(); code != cli.ExitData || !strings.Contains(text, path) ||
			!strings.Contains(text, "is missing: put it back") {
			t.Errorf("without %s: code %d; it says %s", path, code, text)
		}
		if err := os.Rename(away, path); err != nil {
			t.Fatal(err)
		}
	}
	s = p.serve(t)
	s.awaitReady()
	s.stop()
}

// savedSnapshots returns the snapshot files that the host's log has recorded. An unfinished snapshot is in a directory
// with a longer name, and an unrecorded snapshot has a flag file beside it: a start removes both.
func savedSnapshots(dir string) (saved []string) {
	const digits = "????????????????"
	for _, path := range filesOf(dir, "snapshot-"+digits+".gbsnap") {
		home := filepath.Dir(path)
		if whole, _ := filepath.Match("snapshot-"+digits, filepath.Base(home)); !whole {
			continue
		}
		if _, err := os.Stat(filepath.Join(home, "dragonboat.snapshot.message")); os.IsNotExist(err) {
			saved = append(saved, path)
		}
	}
	return saved
}

// filesOf returns the files below a directory whose names match a pattern.
func filesOf(dir, pattern string) (found []string) {
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if match, _ := filepath.Match(pattern, filepath.Base(path)); match {
			found = append(found, path)
		}
		return nil
	})
	return found
}
