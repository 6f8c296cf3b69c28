package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// onDisk is the size of a log's files.
func onDisk(t *testing.T, fs vfs.FS) (bytes int64) {
	t.Helper()
	names, err := fs.List(testDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := fs.Stat(filepath.Join(testDir, name))
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// TestALogIsBounded: for any sets and deletes, and even if one key is set once and never again, the size on disk is at
// most a small multiple of the needed size plus two segments.
func TestALogIsBounded(t *testing.T) {
	for name, keys := range map[string]int{"little is needed": 2, "much is needed": 60} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := newMemory()
				v := mustOpen(t, testOptions(memoryDisk(fs)))
				quiet := v.set(t, Key{9, 9}, "set once")
				written := int64(0)
				for i := range 3000 {
					at := v.set(t, Key{1, uint64(i % keys)}, textOfNumber(i, 3000))
					written += int64(at.Bytes)
					if i%20 != 0 {
						continue
					}
					synctest.Wait()
					size := v.log.Size()
					if limit := keepFactor*size.Needed + 2*testSegment; onDisk(t, fs) > limit || size.Disk > limit {
						t.Fatalf("after %d values %d bytes are on the disk, limit %d, %+v", i,
							onDisk(t, fs), limit, size)
					}
				}
				synctest.Wait() // for rewrites
				if at := v.places[Key{9, 9}]; at.Segment == quiet.Segment || v.texts[Key{9, 9}] != "set once" {
					t.Errorf("the quiet key is still in segment %d", at.Segment)
				}
				if v.rewrites == 0 || written < 100*testSegment {
					t.Errorf("%d rewrites, %d bytes written", v.rewrites, written)
				}
				want := v.String()
				v.log.Close()
				if got, err := openCopy(t, fs); err != nil || got != want {
					t.Errorf("it opens with %v and has\n%s, want\n%s", err, got, want)
				}
			})
		})
	}
}

// rewriteNothing is an owner that does not rewrite needed records.
type rewriteNothing struct{ *values }

func (rewriteNothing) Rewrite(uint64) error { return nil }

func TestASegmentThatIsStillNeededIsNotRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open(testOptions(memoryDisk(newMemory())))
		if err != nil {
			t.Fatal(err)
		}
		v := &values{log: log, texts: make(map[Key]string), places: make(map[Key]Place)}
		log.pause = 0
		if err := log.Start(rewriteNothing{v}); err != nil {
			t.Fatal(err)
		}
		v.set(t, Key{9, 9}, "needed")
		for err == nil {
			var at Place
			if at, err = v.change(Key{1, 1}, kindSet, textOfNumber(1, 3000)); err == nil {
				err = log.Sync(at)
			}
			synctest.Wait()
		}
		if !strings.Contains(err.Error(), "still needed") {
			t.Errorf("the log fails with %v", err)
		}
		log.Close()
	})
}

// endingOwner ends the goroutine that requests a rewrite, like a process that cannot continue.
type endingOwner struct{ *values }

func (endingOwner) Rewrite(uint64) error {
	runtime.Goexit()
	return nil
}

func TestTheLockIsHeldHoweverARewriteEnds(t *testing.T) {
	l, ended := &Log{owner: endingOwner{}}, make(chan struct{})
	go func() {
		defer close(ended)
		l.mu.Lock()
		defer l.mu.Unlock()
		t.Errorf("rewritten: %v", l.rewrite(1))
	}()
	<-ended
	l.mu.Lock() // a second unlock would have ended the process
}

// fullDisk has room for so many bytes in files.
type fullDisk struct{ left atomic.Int64 }

type fullFile struct {
	direct.File
	disk *fullDisk
	size int64
}

func (f *fullDisk) on(disk Disk) Disk {
	open := disk.OpenData
	disk.OpenData = func(name string) (direct.File, error) {
		file, err := open(name)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &fullFile{file, f, info.Size()}, nil
	}
	return disk
}

func (f *fullFile) WriteAt(p []byte, at int64) (int, error) {
	if more := at + int64(len(p)) - f.size; more > 0 {
		if f.disk.left.Add(-more) < 0 {
			f.disk.left.Add(more)
			return 0, syscall.ENOSPC
		}
		f.size += more
	}
	return f.File.WriteAt(p, at)
}

// TestAFullDiskLosesNothing: without space for a whole segment a growing one is used, until there is no space at all.
// Then the log fails, and all acknowledged data is present when it is reopened, even without more space.
func TestAFullDiskLosesNothing(t *testing.T) {
	for _, room := range []int64{testSegment + 9000, 3*testSegment + 100, 5*testSegment + 40000} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			fs, full := newMemory(), new(fullDisk)
			full.left.Store(room)
			options := testOptions(full.on(memoryDisk(fs)))
			v := mustOpen(t, options)
			var err error
			safe := ""
			for i := 0; err == nil; i++ {
				safe = v.String()
				var at Place
				if at, err = v.change(Key{1, uint64(i)}, kindSet, textOfNumber(i, 1500)); err == nil {
					err = v.log.Sync(at)
				}
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("it fails with %v", err)
			}
			if used := v.log.Size().Needed; used < room/2 {
				t.Errorf("it failed when %d bytes of %d were used", used, room)
			}
			v.log.Close()
			v = mustOpen(t, options)
			if got := v.String(); got != safe {
				t.Errorf("it has\n%s, want\n%s", got, safe)
			}
		})
	}
}

// TestSegmentsAreMadeBeforeTheyAreNeeded: a segment is full of zeros or old records when the log continues in it, so
// its syncs change no length.
func TestSegmentsAreMadeBeforeTheyAreNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newMemory()
		options := testOptions(memoryDisk(fs))
		options.SegmentBytes = 4 << 20
		v := mustOpen(t, options)
		sizes := []int64{1 << 20, 4 << 20}
		for i := range 20000 {
			at := v.set(t, Key{1, uint64(i % 3)}, textOfNumber(i, 1500))
			synctest.Wait()
			info, err := fs.Stat(segmentName(testDir, at.Segment))
			if want := sizes[min(at.Segment-1, 1)]; err != nil || info.Size() != want {
				t.Fatalf("segment %d has %d bytes, want %d: %v", at.Segment, info.Size(), want, err)
			}
		}
		v.log.Close()
	})
}

func TestWhereThereIsLittleRoomASegmentGrows(t *testing.T) {
	fs := newMemory()
	fs.room = roomFor*testSegment - 1
	v := mustOpen(t, testOptions(memoryDisk(fs)))
	at := v.set(t, Key{1, 1}, "text")
	info, err := fs.Stat(segmentName(testDir, at.Segment))
	if err != nil || info.Size() != firstRecord+direct.Sector {
		t.Errorf("it has %d bytes: %v", info.Size(), err)
	}
}

func TestWhatAKilledProcessWasMakingIsRemoved(t *testing.T) {
	fs, want := filledLog(t, 30)
	for _, name := range []string{partialName, reuseName} {
		put(t, fs, filepath.Join(testDir, name), []byte("something"))
	}
	report, err := Inspect(fs, testDir, visitNone)
	if err != nil || len(report.Damage) != 0 {
		t.Errorf("Inspect reports %+v, %v", report, err)
	}
	if got, err := openCopy(t, fs); err != nil || got != want {
		t.Errorf("it opens with %v", err)
	}
	partial := func(name string) bool { return strings.HasSuffix(name, ".partial") }
	if names, _ := fs.List(testDir); slices.ContainsFunc(names, partial) {
		t.Errorf("the directory has %v", names)
	}
}

// TestASegmentStaysUntilItsRecordIsCounted: an owner may be slow to count an appended record as needed. Others append
// meanwhile, until the segment is the oldest one, with nothing else needed in it.
func TestASegmentStaysUntilItsRecordIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := mustOpen(t, testOptions(memoryDisk(newMemory())))
		at, err := v.log.Append(Key{7, 7}, kindSet, []byte("slow"))
		if err != nil {
			t.Fatal(err)
		}
		counted := make(chan struct{})
		v.mu.Lock() // held by the appending owner
		go func() {
			defer close(counted)
			defer v.mu.Unlock()
			for i := range 300 { // of another owner
				other, err := v.log.Append(Key{8, 8}, kindDelete, []byte(textOfNumber(i, 3000)))
				if err == nil {
					v.log.Need(other.Segment, -int64(other.Bytes))
					err = v.log.Sync(other)
				}
				if err != nil {
					t.Error(err)
				}
			}
			v.appended(at, Key{7, 7}, kindSet, "slow")
		}()
		<-counted
		<-v.log.Reclaim()
		v.mu.Lock()
		place := v.places[Key{7, 7}]
		v.mu.Unlock()
		if data, err := v.log.Read(place); err != nil || string(data) != "slow" {
			t.Errorf("the record reads %q, %v", data, err)
		}
		if place == at {
			t.Error("its segment was never the oldest one")
		}
	})
}
