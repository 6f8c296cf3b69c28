package raftlog

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var powerFlips = flag.Int("power.flips", 100, "how many bits are flipped in the files of a host, one at a time")

// flips draws file positions for bit flips: most of them within content.
func flips(random *rand.Rand, data []byte, count int) (places []int) {
	end := len(bytes.TrimRight(data, "\x00"))
	if end == 0 {
		return nil
	}
	for range count {
		limit := end
		if random.IntN(20) == 0 {
			limit = len(data)
		}
		places = append(places, random.IntN(limit))
	}
	return places
}

// kindOf is a file name without its number.
func kindOf(path string) string {
	if extension := filepath.Ext(path); isSegment(path) || extension == snapshotSuffix {
		return extension
	}
	name, _, _ := strings.Cut(filepath.Base(path), "-")
	return name
}

// notServed describes an incorrect refusal of a directory with a damaged file: nil if the refusal names the file.
func notServed(err error, file string) error {
	if !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("it is not called damaged: %w", err)
	}
	if !strings.Contains(err.Error(), file) {
		return fmt.Errorf("the file is not named: %w", err)
	}
	return nil
}

// TestNothingWrongIsServedByAFlippedHost flips bits all over a host's data directory: host records, flag files and
// snapshots too.
func TestNothingWrongIsServedByAFlippedHost(t *testing.T) {
	one := newCluster(t, 1, fewEntries)[0]
	var want []string
	for i := range 3 {
		one.open()
		leaderOf(t, []*member{one})
		want = append(want, one.mustPropose(40*i, 40*i+40)...)
		one.close()
	}
	random := powerRandom(t)
	files := make(map[string][]byte)
	err := filepath.WalkDir(one.config.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	refused, opened := make(map[string]int), make(map[string]int)
	for path, data := range files {
		for _, at := range flips(random, data, max(1, *powerFlips/len(files))) {
			kind := kindOf(path)
			bad := bytes.Clone(data)
			bad[at] ^= 1 << random.IntN(8)
			copied := one.config
			copied.DataDir = filepath.Join(t.TempDir(), "host")
			relative, _ := filepath.Rel(one.config.DataDir, path)
			if err := os.CopyFS(copied.DataDir, os.DirFS(one.config.DataDir)); err != nil {
				t.Fatal(err)
			}
			damaged := filepath.Join(copied.DataDir, relative)
			if err := os.WriteFile(damaged, bad, 0o640); err != nil {
				t.Fatal(err)
			}
			host, err := Open(copied)
			if err != nil {
				refused[kind]++
				if filepath.Base(path) == recordFile { // it may then belong to another host
					damaged = copied.DataDir
					err = errors.Join(ErrDamaged, err)
				}
				if err := notServed(err, damaged); err != nil {
					t.Errorf("%s, byte %d of %d: %v", relative, at, len(data), err)
				}
				continue
			}
			opened[kind]++
			m := &member{t: t, config: copied, host: host}
			m.start(newRecorder())
			leaderOf(t, []*member{m})
			if got := m.machine.applied(); !slices.Equal(got, want) {
				t.Errorf("%s, byte %d of %d: it has %d batches, want %d", relative, at, len(data), len(got), len(want))
			}
			m.close()
			os.RemoveAll(copied.DataDir)
		}
	}
	t.Logf("refused %v, opened %v", refused, opened)
}
