package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/inspect"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// filesNamed returns the files below a directory whose names match a pattern, in order.
func filesNamed(dir, pattern string) (found []string) {
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if match, _ := filepath.Match(pattern, filepath.Base(path)); match {
			found = append(found, path)
		}
		return nil
	})
	slices.Sort(found)
	return found
}

// usedDirectory returns the data directory of a stopped host, with a log and a meta shard snapshot.
func usedDirectory(t *testing.T) string {
	t.Helper()
	p := newPlace(t)
	box, stop := snapshotting(t, p)
	// An unfinished snapshot is in a directory with a different name, and is discarded if the host stops.
	isSaved := func(file string) bool { return filepath.Ext(filepath.Dir(file)) == "" }
	for i := 0; !slices.ContainsFunc(filesNamed(p.Dir, "snapshot-????????????????.gbsnap"), isSaved); i++ {
		if _, err := box.CreateNode(t.Context(), fmt.Sprintf("/n%d", i), client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	stop()
	return p.Dir
}

// rewriteFile replaces the content of a file.
func rewriteFile(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestInspectSeesWhatAHostWouldEndAt: for a damaged or missing file, inspect names the file and exits with the code for
// bad data.
func TestInspectSeesWhatAHostWouldEndAt(t *testing.T) {
	used := usedDirectory(t)
	if code, out, err := command(nil, "inspect", used); code != 0 || !strings.Contains(out, "Shards in the log") {
		t.Fatalf("as it is: code %d, %s%s", code, out, err)
	}
	overwritten := func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) }
	flipped := func(b []byte) []byte {
		b[len(bytes.TrimRight(b, "\x00"))-100] ^= 1 // in a record before the last one
		return b
	}
	first := func(files []string) string { return files[0] }
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string) (file string)
		want   string
	}{
		"a segment is overwritten": {func(t *testing.T, dir string) string {
			file := first(filesNamed(dir, "*.wal"))
			rewriteFile(t, file, overwritten)
			return file
		}, "from byte 0 on"},
		"a bit of a record": {func(t *testing.T, dir string) string {
			file := first(filesNamed(dir, "*.wal"))
			rewriteFile(t, file, flipped)
			return file
		}, "from byte "},
		"the log is gone": {func(t *testing.T, dir string) string {
			file := first(filesNamed(dir, "*.wal"))
			if err := os.RemoveAll(filepath.Dir(file)); err != nil {
				t.Fatal(err)
			}
			return file
		}, "is missing"},
		"all segments are gone": {func(t *testing.T, dir string) string {
			files := filesNamed(dir, "*.wal")
			for _, file := range files {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			return files[0]
		}, "is missing"},
		"the record of the directory is gone": {func(t *testing.T, dir string) string {
			file := first(filesNamed(dir, "host.json"))
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			return file
		}, "is missing"},
		"the record of the directory is cut": {func(t *testing.T, dir string) string {
			file := first(filesNamed(dir, "host.json"))
			rewriteFile(t, file, func(b []byte) []byte { return b[:len(b)/2] })
			return file
		}, "format"},
		"the log is of an earlier version": {func(t *testing.T, dir string) string {
			file := first(filesNamed(dir, "host.json"))
			rewriteFile(t, file, func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"format": 5`), []byte(`"format": 3`), 1)
			})
			return file
		}, "format 3 from an earlier version"},
		"a snapshot is gone": {func(t *testing.T, dir string) string {
			files := filesNamed(dir, "snapshot-????????????????.gbsnap")
			file := files[len(files)-1]
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			return file
		}, "is missing"},
		"the directory of a snapshot is gone": {func(t *testing.T, dir string) string {
			files := filesNamed(dir, "snapshot-????????????????.gbsnap")
			file := files[len(files)-1]
			if err := os.RemoveAll(filepath.Dir(file)); err != nil {
				t.Fatal(err)
			}
			return file
		}, "is missing"},
		"a flag file": {func(t *testing.T, dir string) string {
			file := first(filesNamed(dir, "NODEHOST.ID"))
			rewriteFile(t, file, overwritten)
			return file
		}, "from byte 0 on"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(used)); err != nil {
				t.Fatal(err)
			}
			file := c.damage(t, dir)
			code, out, said := command(nil, "inspect", dir, "-o", "json")
			o := parsed[inspect.Object](t, out)
			inside, _ := filepath.Rel(dir, file)
			if code != cli.ExitData || len(o.Problems) == 0 || !o.HasProblem(inside) ||
				!strings.Contains(o.Problems[0].Problem, c.want) {
				t.Errorf("code %d, want a problem of %s: %+v %s", code, inside, o.Problems, said)
			}
		})
	}
}
