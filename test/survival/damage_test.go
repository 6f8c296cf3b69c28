//go:build linux

package survival_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// damage changes the data directory's files with a name prefix, and returns their number.
func damage(t *testing.T, dir, kind string, change func([]byte) []byte) (changed int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), kind) && !strings.HasSuffix(d.Name(), kind) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) < 8 {
			return err
		}
		changed++
		return os.WriteFile(path, change(data), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestAHostDoesNotServeFromADirectoryThatIsDamaged(t *testing.T) {
	t.Parallel()
	places := newPlaces(t, "a")
	whole := places[0].Dir
	hosts := serveAll(t, places)
	newNode(t, hosts, "/damage", protocol.NodeConfig{})
	quiet := newRecord(t)
	c, err := start(addresses(hosts), "/damage", time.Minute, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := c.create(fmt.Sprint("value-", i), "data"); err != nil {
			t.Fatal(err)
		}
	}
	c.disconnect()
	hosts[0].Kill()

	cut := func(b []byte) []byte { return b[:len(b)/2] }
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			written := len(bytes.TrimRight(b, "\x00")) // log segments are longer than their content
			b[written/at] ^= 0x10
			return b
		}
	}
	for _, broken := range []struct {
		kind, how string
		change    func([]byte) []byte
	}{
		{"identity.json", "cut", cut}, {"identity.json", "changed", flip(2)},
		{"host.json", "cut", cut}, {"host.json", "changed", flip(2)},
		{"dragonboat.ds", "cut", cut}, {"NODEHOST.ID", "changed", flip(2)},
		{".wal", "cut", cut}, {".wal", "changed", flip(2)},
	} {
		t.Run(broken.kind+" "+broken.how, func(t *testing.T) {
			copied := filepath.Join(filepath.Dir(whole), "copy")
			if err := os.RemoveAll(copied); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(copied, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if damage(t, copied, broken.kind, broken.change) == 0 {
				t.Fatal("there is no such file")
			}
			places[0].Dir = copied
			h := places[0].serve(t)
			code, err := h.Wait(patience)
			if err != nil {
				t.Fatal(err)
			}
			if said := h.Errors() + h.Output(); code <= 0 || !strings.Contains(said, copied) {
				t.Fatalf("exit code %d; it said:\n%s", code, said)
			}
		})
	}

	// The directory itself can be used for another start.
	places[0].Dir = whole
	again := places[0].serve(t)
	again.awaitReady()
	if c, err = start(addresses([]*host{again}), "/damage", time.Minute, quiet); err != nil {
		t.Fatal(err)
	}
	defer c.disconnect()
	for i := range 100 {
		if data, err := c.read(fmt.Sprint("value-", i)); err != nil || data != "data" {
			t.Fatalf("value %d of a directory that is whole: %q, %v", i, data, err)
		}
	}
}
