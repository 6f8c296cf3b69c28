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

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/outage"
)

var powerFlips = flag.Int("power.flips", 1000,
	"how many bits are flipped in a log store's files, one at a time; of a whole host's, a tenth")

// flips draws places of a file in which bits are flipped: most of them where it holds something.
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

// kindOf is a file's name without what numbers it.
func kindOf(path string) string {
	if extension := filepath.Ext(path); extension == tableSuffix || extension == snapshotSuffix || isLogFile(path) {
		return extension
	}
	name, _, _ := strings.Cut(filepath.Base(path), "-")
	return name
}

// notServed says what is wrong with a refusal of a directory in which a file was damaged: nothing if it is one that
// names it.
func notServed(err error, file string) error {
	if !errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), "is damaged") {
		return fmt.Errorf("it is not called damaged: %w", err)
	}
	if !strings.Contains(err.Error(), file) {
		return fmt.Errorf("the file is not named: %w", err)
	}
	return nil
}

// flippedStore is a log store in whose files bits are flipped.
type flippedStore struct {
	era     *era
	allowed span
	image   *outage.Disk
	random  *rand.Rand
	refused map[string]int
	opened  map[string]int
}

// newFlippedStore fills a store, and closes it or kills it.
func newFlippedStore(t *testing.T, closed bool) *flippedStore {
	t.Helper()
	random := powerRandom(t)
	e, err := liveOn(outage.NewDisk(storeRoot), []*ledger{newLedger()}, span{}, 300, random, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &flippedStore{era: e, random: random, refused: make(map[string]int), opened: make(map[string]int)}
	var safes []int
	e.recording.Replay(func(_ int, d *outage.Disk, note any) bool {
		if n, ok := note.(safe); ok {
			safes = append(safes, n.state)
		}
		s.image = d
		return true
	})
	s.allowed = span{safes[len(safes)-2], len(e.states) - 1} // the last batch before a kill has no mark
	if closed {
		s.allowed.low = s.allowed.high
		e.closing.Replay(func(_ int, d *outage.Disk, _ any) bool {
			s.image = d
			return true
		})
	}
	return s
}

// flip opens the store with one bit of a file that is not what it was.
func (s *flippedStore) flip(name string, at int) error {
	fs := roomy{vfs.NewMem()}
	if err := s.image.Put(storeRoot, fs, storeRoot); err != nil {
		return err
	}
	data, err := readFile(fs, name)
	if err != nil {
		return err
	}
	data[at] ^= 1 << s.random.IntN(8)
	file, err := fs.Create(name)
	if err == nil {
		_, err = file.Write(data)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	kind := kindOf(name)
	store, err := openStore(fs, openMemory(fs))
	if err != nil {
		s.refused[kind]++
		return notServed(err, name)
	}
	s.opened[kind]++
	_, err = s.era.find(store, s.allowed)
	return errors.Join(err, store.close())
}

// files lists the files of the store.
func (s *flippedStore) files(t *testing.T) map[string][]byte {
	t.Helper()
	fs := roomy{vfs.NewMem()}
	if err := s.image.Put(storeRoot, fs, storeRoot); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(storeDir, "logdb-0")
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, name := range names {
		data, err := readFile(fs, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Join(dir, name)] = data
	}
	return files
}

// TestNothingWrongIsReadFromAFlippedStore flips bits all over a log store's files. Either they do not matter, or the
// store is refused, and the file is named.
func TestNothingWrongIsReadFromAFlippedStore(t *testing.T) {
	for name, closed := range map[string]bool{"closed": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFlippedStore(t, closed)
			files := s.files(t)
			for name, data := range files {
				for _, at := range flips(s.random, data, *powerFlips/2/len(files)) {
					if err := s.flip(name, at); err != nil {
						t.Fatalf("%s, byte %d of %d: %v", name, at, len(data), err)
					}
				}
			}
			t.Logf("refused %v, opened %v", s.refused, s.opened)
			for _, kind := range []string{".log", "MANIFEST", tableSuffix, "CURRENT", "OPTIONS"} {
				if closed && s.refused[kind] == 0 {
					t.Errorf("no %s was refused", kind)
				}
			}
		})
	}
}

// TestNothingWrongIsServedByAFlippedHost flips bits all over a host's data directory: host records, flag files and
// snapshots too.
func TestNothingWrongIsServedByAFlippedHost(t *testing.T) {
	one := newCluster(t, 1, fewEntries)[0]
	var want []string
	for i := range 3 { // each time it writes a table
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
		for _, at := range flips(random, data, max(1, *powerFlips/10/len(files))) {
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
				if filepath.Base(path) == recordFile { // it may be that of another host then
					damaged = copied.DataDir
					err = fmt.Errorf("is damaged: %w", err)
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
