package wal

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/internal/backgrounddelete"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// systemDisk is the operating system's disk, with direct writes if the file system supports them.
func systemDisk() Disk { return Disk{FS: backgrounddelete.FS{FS: vfs.Default}, OpenData: direct.Open} }

// nothingNeeded is an owner that needs no records once they are in the log.
type nothingNeeded struct{}

func (nothingNeeded) Replay(Place, Key, Kind, []byte) error { return nil }
func (nothingNeeded) Rewrite(uint64) error                  { return nil }

func benchmarkLog(b *testing.B) *Log {
	b.Helper()
	log, err := Open(Options{Dir: b.TempDir(), Disk: systemDisk()})
	if err == nil {
		err = log.Start(nothingNeeded{})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := log.Close(); err != nil {
			b.Error(err)
		}
	})
	return log
}

func save(b *testing.B, log *Log, key Key, data []byte) {
	at, err := log.Append(key, kindSet, data)
	if err == nil {
		log.Need(at.Segment, -int64(at.Bytes))
		err = log.Sync(at)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSave saves records of 1 KiB durably: one caller, and several who share syncs.
func BenchmarkSave(b *testing.B) {
	for _, savers := range []int{1, 4, 64} {
		b.Run(fmt.Sprintf("savers=%d", savers), func(b *testing.B) {
			log := benchmarkLog(b)
			data := []byte(strings.Repeat("x", 1024))
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for i := range savers {
				all.Go(func() {
					for range (b.N + savers - 1 - i) / savers {
						save(b, log, Key{1, uint64(i)}, data)
					}
				})
			}
			all.Wait()
		})
	}
}

// BenchmarkAppend appends records of 64 bytes that may wait, and syncs every hundredth.
func BenchmarkAppend(b *testing.B) {
	log := benchmarkLog(b)
	data := make([]byte, 64)
	b.ReportAllocs()
	for i := range b.N {
		at, err := log.Append(Key{1, 1}, kindSet, data)
		log.Need(at.Segment, -int64(at.Bytes))
		if err == nil && i%100 == 0 {
			err = log.Sync(at)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// TestASaveAllocatesNothing: saved data goes into existing memory.
func TestASaveAllocatesNothing(t *testing.T) {
	log, err := Open(Options{Dir: t.TempDir(), Disk: systemDisk()})
	if err == nil {
		err = log.Start(nothingNeeded{})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	data := make([]byte, 3000)
	allocated := testing.AllocsPerRun(15, func() { // too few for the next segment to be made
		at, err := log.Append(Key{1, 1}, kindSet, data)
		if err == nil {
			log.Need(at.Segment, -int64(at.Bytes))
			err = log.Sync(at)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations for a save", allocated)
	}
}
