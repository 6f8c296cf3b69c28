package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

const (
	testRoot = "/host"
	testDir  = testRoot + "/log"
	// testSegment is small, so that segments begin and end all the time.
	testSegment = 32 << 10

	kindSet    Kind = 1
	kindDelete Kind = 2
)

// end is the end of a record in its segment.
func (p Place) end() int64 { return int64(p.Offset) + int64(p.Bytes) }

// values is an owner: a log of values, set and deleted by key.
type values struct {
	log      *Log
	mu       sync.Mutex
	texts    map[Key]string
	places   map[Key]Place
	rewrites int
}

// openValues opens a log on a disk.
func openValues(options Options) (*values, error) {
	log, err := Open(options)
	if err != nil {
		return nil, err
	}
	v := &values{log: log, texts: make(map[Key]string), places: make(map[Key]Place)}
	log.pause = 0
	return v, log.Start(v)
}

func mustOpen(t testing.TB, options Options) *values {
	t.Helper()
	v, err := openValues(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.log.Close() })
	return v
}

// Replay implements Owner.
func (v *values) Replay(at Place, key Key, kind Kind, data []byte) error {
	v.note(at, key, kind, string(data))
	return nil
}

func (v *values) note(at Place, key Key, kind Kind, text string) {
	if old, ok := v.places[key]; ok {
		v.log.Need(old.Segment, -int64(old.Bytes))
		delete(v.places, key)
		delete(v.texts, key)
	}
	if kind == kindSet {
		v.log.Need(at.Segment, int64(at.Bytes))
		v.places[key], v.texts[key] = at, text
	}
}

// appended records an appended record.
func (v *values) appended(at Place, key Key, kind Kind, text string) {
	v.note(at, key, kind, text)
	v.log.Need(at.Segment, -int64(at.Bytes))
}

// Rewrite implements Owner.
func (v *values) Rewrite(segment uint64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rewrites++
	for key, at := range v.places {
		if at.Segment > segment {
			continue
		}
		data, err := v.log.Read(at)
		if err != nil {
			return err
		}
		if string(data) != v.texts[key] {
			return fmt.Errorf("%v reads %.20q, was set to %.20q", key, data, v.texts[key])
		}
		if at, err = v.log.Append(key, kindSet, data); err != nil {
			return err
		}
		v.appended(at, key, kindSet, string(data))
	}
	return nil
}

// change appends a change and returns its place.
func (v *values) change(key Key, kind Kind, text string) (Place, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.log.Append(key, kind, []byte(text))
	if err == nil {
		v.appended(at, key, kind, text)
	}
	return at, err
}

// set sets a value durably.
func (v *values) set(t testing.TB, key Key, text string) Place {
	t.Helper()
	at, err := v.change(key, kindSet, text)
	if err == nil {
		err = v.log.Sync(at)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// String lists all values.
func (v *values) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return textOf(v.texts)
}

func textOf(texts map[Key]string) string {
	var b strings.Builder
	keys := slices.SortedFunc(maps.Keys(texts), func(a, b Key) int {
		return slices.Compare([]uint64{a.Shard, a.Replica}, []uint64{b.Shard, b.Replica})
	})
	for _, key := range keys {
		fmt.Fprintf(&b, "%d/%d: %d bytes %08x\n", key.Shard, key.Replica, len(texts[key]),
			crc32.ChecksumIEEE([]byte(texts[key])))
	}
	return b.String()
}

// roomy is an in-memory file system with a configured capacity.
type roomy struct {
	*vfs.MemFS
	room uint64
}

// GetDiskUsage implements vfs.FS.
func (r roomy) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: r.room, TotalBytes: 1 << 40}, nil
}

func newMemory() roomy { return roomy{vfs.NewMem(), 1 << 40} }

// memoryFile is an in-memory file, whose data are synced like the rest.
type memoryFile struct{ vfs.File }

func (f memoryFile) SyncData() error { return f.Sync() }

// memoryDisk is the disk of an in-memory file system.
func memoryDisk(fs vfs.FS) Disk {
	return Disk{FS: fs, OpenData: func(name string) (direct.File, error) {
		if _, err := fs.Stat(name); err != nil {
			file, err := fs.Create(name)
			return memoryFile{file}, err
		}
		file, err := fs.ReuseForWrite(name, name)
		return memoryFile{file}, err
	}}
}

// recordedDisk is the disk of a recorder.
func recordedDisk(r *outage.Recorder) Disk {
	return Disk{FS: r, OpenData: func(name string) (direct.File, error) { return r.OpenData(name) }}
}

func testOptions(disk Disk) Options {
	return Options{Dir: testDir, Disk: disk, SegmentBytes: testSegment}
}

func textOfNumber(n int, size int) string {
	b := binary.LittleEndian.AppendUint64(nil, uint64(n))
	return string(slices.Repeat(b, 1+size/8)[:max(size, 8)])
}
