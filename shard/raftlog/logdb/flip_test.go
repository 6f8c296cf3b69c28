package logdb

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

var powerFlips = flag.Int("logdb.flips", 1000, "how many bits are flipped in the files of a store, one at a time")

// flipped is a store with bit flips in its files.
type flipped struct {
	era     *era
	allowed span
	image   *outage.Disk
	random  *rand.Rand
	refused int
	opened  int
}

// newFlipped fills a store, and closes it or kills it.
func newFlipped(t *testing.T, closed bool) *flipped {
	t.Helper()
	p := &power{random: testRandom(t)}
	e, err := p.live(outage.NewDisk(testDir), []*model{newModel()}, span{}, 300)
	if err != nil {
		t.Fatal(err)
	}
	f := &flipped{era: e, random: p.random}
	var safes []int
	e.recording.Replay(func(_ int, d *outage.Disk, note any) bool {
		if n, ok := note.(safe); ok {
			safes = append(safes, n.state)
		}
		f.image = d
		return true
	})
	f.allowed = span{safes[len(safes)-2], len(e.states) - 1} // nothing proves that the last synced data was synced
	if closed {
		f.allowed.low = f.allowed.high
		e.closed.Replay(func(_ int, d *outage.Disk, _ any) bool {
			f.image = d
			return true
		})
	}
	return f
}

// put creates the store's files in a new file system.
func (f *flipped) put() (roomy, error) {
	fs := newMemory()
	return fs, f.image.Put(testDir, fs, testDir)
}

// files returns the content of the log's files.
func (f *flipped) files(t *testing.T) map[string][]byte {
	t.Helper()
	fs, err := f.put()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(testDir, logDir)
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, name := range names {
		path := filepath.Join(dir, name)
		file, err := fs.Open(path)
		if err == nil {
			files[path], err = io.ReadAll(file)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// flip opens the store with one flipped bit in a file.
func (f *flipped) flip(name string, data []byte, at int) error {
	fs, err := f.put()
	if err != nil {
		return err
	}
	bad := bytes.Clone(data)
	bad[at] ^= 1 << f.random.IntN(8)
	if err := overwrite(fs, name, bad); err != nil {
		return err
	}
	db, err := openOn(memoryDisk(fs))
	if err != nil {
		f.refused++
		if !errors.Is(err, wal.ErrDamaged) || !strings.Contains(err.Error(), name) {
			return fmt.Errorf("it is not called damaged, or the file is not named: %w", err)
		}
		return nil
	}
	f.opened++
	_, err = f.era.find(db, f.allowed)
	return errors.Join(err, db.Close())
}

func overwrite(fs vfs.FS, name string, data []byte) error {
	file, err := fs.Create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// records returns the places of the records in all segments but the newest, and these segments' files: a later segment
// proves that they were complete.
func (f *flipped) records(t *testing.T) (list []wal.Place, files map[uint64]string) {
	t.Helper()
	fs, err := f.put()
	if err != nil {
		t.Fatal(err)
	}
	_, err = wal.Inspect(memoryDisk(fs), filepath.Join(testDir, logDir),
		func(at wal.Place, _ wal.Key, _ wal.Kind, _ []byte) error {
			list = append(list, at)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	files = make(map[uint64]string)
	for name := range f.files(t) {
		if number, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(name), ".wal"), 10, 64); err == nil {
			files[number] = name
		}
	}
	delete(files, slices.Max(slices.Collect(maps.Keys(files))))
	list = slices.DeleteFunc(list, func(at wal.Place) bool { return files[at.Segment] == "" })
	return list, files
}

// TestNothingWrongIsReadFromAFlippedStore flips bits all over a store's files, mostly within content. Either they do
// not matter, or the store is refused, with the file's name. Flips in a record always matter if a segment follows.
func TestNothingWrongIsReadFromAFlippedStore(t *testing.T) {
	for name, closed := range map[string]bool{"closed": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlipped(t, closed)
			records, segments := f.records(t)
			for len(records) == 0 { // everything is in one segment
				f = newFlipped(t, closed)
				records, segments = f.records(t)
			}
			files := f.files(t)
			for name, data := range files {
				end := len(bytes.TrimRight(data, "\x00"))
				for range *powerFlips / 4 / len(files) {
					at := f.random.IntN(len(data))
					if f.random.IntN(20) > 0 {
						at = f.random.IntN(end)
					}
					if err := f.flip(name, data, at); err != nil {
						t.Fatalf("%s, byte %d of %d: %v", name, at, len(data), err)
					}
				}
			}
			t.Logf("%d files: refused %d times, opened %d times", len(files), f.refused, f.opened)
			for range *powerFlips / 4 {
				r := records[f.random.IntN(len(records))]
				name := segments[r.Segment]
				at, opened := int(r.Offset)+f.random.IntN(int(r.Bytes)), f.opened
				if err := f.flip(name, files[name], at); err != nil || f.opened > opened {
					t.Fatalf("%s, byte %d, in the record at %d of %d bytes: the store opens: %v", name, at, r.Offset,
						r.Bytes, err)
				}
			}
		})
	}
}
