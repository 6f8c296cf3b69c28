package wal

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

func TestALogReplaysWhatWasAppended(t *testing.T) {
	options := testOptions(memoryDisk(newMemory()))
	v := mustOpen(t, options)
	for i := range 500 {
		v.set(t, Key{uint64(i % 7), uint64(i % 3)}, textOfNumber(i, i*i%3000))
	}
	if _, err := v.change(Key{3, 1}, kindDelete, ""); err != nil {
		t.Fatal(err)
	}
	want := v.String()
	for i := range 3 {
		if err := v.log.Close(); err != nil {
			t.Fatal(err)
		}
		v = mustOpen(t, options)
		if got := v.String(); got != want {
			t.Fatalf("opening %d replays\n%s, want\n%s", i, got, want)
		}
		v.set(t, Key{100, uint64(i)}, "more")
		want = v.String()
	}
}

func TestARecordIsReadAtItsPlace(t *testing.T) {
	v := mustOpen(t, testOptions(memoryDisk(newMemory())))
	for _, size := range []int{0, 1, 7, 8, 9, direct.Sector, 3 * direct.Sector, testSegment, 3 * testSegment} {
		text := strings.Repeat("x", size)
		at, err := v.change(Key{1, uint64(size)}, kindSet, text) // not synced
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.log.Read(at)
		if err != nil || string(got) != text {
			t.Errorf("of %d bytes %d are read: %v", size, len(got), err)
		}
	}
}

// countedDisk counts operations on a disk's segments, and can delay or refuse them.
type countedDisk struct {
	writes, syncs atomic.Int64
	// before, if set, is called before each write and sync of records.
	before atomic.Pointer[func(what string) error]
}

type countedFile struct {
	direct.File
	disk *countedDisk
}

func (c *countedDisk) on(disk Disk) Disk {
	open := disk.OpenData
	disk.OpenData = func(name string) (direct.File, error) {
		file, err := open(name)
		return &countedFile{file, c}, err
	}
	return disk
}

func (c *countedDisk) do(what string, count *atomic.Int64) error {
	count.Add(1)
	if before := c.before.Load(); before != nil {
		return (*before)(what)
	}
	return nil
}

func (c *countedFile) WriteAt(p []byte, at int64) (int, error) {
	if err := c.disk.do("write", &c.disk.writes); err != nil {
		return 0, err
	}
	return c.File.WriteAt(p, at)
}

func (c *countedFile) SyncData() error {
	if err := c.disk.do("sync", &c.disk.syncs); err != nil {
		return err
	}
	return c.File.SyncData()
}

func countedLog(t *testing.T) (*values, *countedDisk) {
	t.Helper()
	counted := new(countedDisk)
	options := testOptions(counted.on(memoryDisk(newMemory())))
	options.SegmentBytes = 1 << 20
	v := mustOpen(t, options)
	counted.writes.Store(0)
	counted.syncs.Store(0)
	return v, counted
}

func TestOneCallerCostsOneWriteAndOneSync(t *testing.T) {
	v, counted := countedLog(t)
	for i := range 10 {
		v.set(t, Key{1, 1}, textOfNumber(i, 1000))
	}
	if writes, syncs := counted.writes.Load(), counted.syncs.Load(); writes != 10 || syncs != 10 {
		t.Errorf("10 saves took %d writes and %d syncs", writes, syncs)
	}
}

func TestWhatIsOnlyAppendedIsNotWritten(t *testing.T) {
	v, counted := countedLog(t)
	at := v.set(t, Key{1, 1}, "first")
	if _, err := v.change(Key{1, 1}, kindSet, "second"); err != nil {
		t.Fatal(err)
	}
	if err := v.log.Sync(at); err != nil {
		t.Fatal(err)
	}
	if writes := counted.writes.Load(); writes != 1 {
		t.Errorf("%d writes", writes)
	}
}

// TestCallersShareASync blocks the first sync until all others wait. Those then share one.
func TestCallersShareASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, counted := countedLog(t)
		release := make(chan struct{})
		hold := func(what string) error {
			if what == "sync" && counted.syncs.Load() == 1 {
				<-release
			}
			return nil
		}
		counted.before.Store(&hold)
		var savers sync.WaitGroup
		const callers = 64
		for i := range callers {
			savers.Go(func() { v.set(t, Key{1, uint64(i)}, "text") })
			synctest.Wait()
		}
		close(release)
		savers.Wait()
		if syncs := counted.syncs.Load(); syncs != 2 {
			t.Errorf("%d saves took %d syncs, want 2: one for the first, one for all others", callers, syncs)
		}
		v.log.Close()
	})
}

func TestASaverReturnsWhenItsOwnRecordIsDurable(t *testing.T) {
	v, counted := countedLog(t)
	before := int64(0)
	var savers sync.WaitGroup
	for i := range 8 {
		savers.Go(func() {
			for n := range 50 {
				at := v.set(t, Key{1, uint64(i)}, textOfNumber(n, 100))
				if v.log.End().Before(End{Segment: at.Segment, Offset: at.end()}) {
					t.Error("a save has returned before its record was durable")
				}
			}
		})
	}
	savers.Wait()
	if syncs := counted.syncs.Load() - before; syncs > 400 {
		t.Errorf("400 saves took %d syncs", syncs)
	}
}

// TestErrorsOfTheDiskAreKept: after a write or sync error nothing is acknowledged any more, even if the disk works
// again, and acknowledged data is present at the next start.
func TestErrorsOfTheDiskAreKept(t *testing.T) {
	for _, what := range []string{"write", "sync"} {
		t.Run(what, func(t *testing.T) {
			counted := new(countedDisk)
			options := testOptions(counted.on(memoryDisk(newMemory())))
			v := mustOpen(t, options)
			v.set(t, Key{1, 1}, "safe")
			broken := errors.New("input/output error")
			refuse := func(now string) error {
				if now == what {
					return broken
				}
				return nil
			}
			counted.before.Store(&refuse)
			at, err := v.change(Key{1, 2}, kindSet, "lost")
			if err != nil {
				t.Fatal(err)
			}
			if err := v.log.Sync(at); !errors.Is(err, broken) || !strings.Contains(err.Error(), testDir) {
				t.Errorf("the first sync returns %v", err)
			}
			counted.before.Store(nil)
			if err := v.log.Sync(at); !errors.Is(err, broken) {
				t.Errorf("the next sync returns %v", err)
			}
			if _, err := v.change(Key{1, 3}, kindSet, "late"); !errors.Is(err, broken) {
				t.Errorf("the next append returns %v", err)
			}
			if err := v.log.Close(); !errors.Is(err, broken) {
				t.Errorf("Close returns %v", err)
			}
			v = mustOpen(t, options)
			if v.texts[Key{1, 1}] != "safe" {
				t.Errorf("what was acknowledged is gone: %v", v.texts)
			}
		})
	}
}

func TestAClosedLogRefusesCalls(t *testing.T) {
	v := mustOpen(t, testOptions(memoryDisk(newMemory())))
	at := v.set(t, Key{1, 1}, "safe")
	if err := v.log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.change(Key{1, 1}, kindSet, "late"); !errors.Is(err, ErrClosed) {
		t.Errorf("Append returns %v", err)
	}
	if err := v.log.Sync(at); err != nil {
		t.Errorf("Sync of what is durable returns %v", err)
	}
	if err := v.log.Close(); err != nil {
		t.Errorf("the second Close returns %v", err)
	}
}

func TestTheSystemsDiskWorksToo(t *testing.T) {
	options := Options{Dir: t.TempDir() + "/log", Disk: systemDisk(), SegmentBytes: 1 << 20}
	v := mustOpen(t, options)
	for i := range 400 {
		v.set(t, Key{1, uint64(i % 5)}, textOfNumber(i, 9000))
	}
	want := v.String()
	if err := v.log.Close(); err != nil {
		t.Fatal(err)
	}
	v = mustOpen(t, options)
	if got := v.String(); got != want {
		t.Errorf("it replays\n%s, want\n%s", got, want)
	}
	if size := v.log.Size(); size.Disk > keepFactor*size.Needed+2<<20 {
		t.Errorf("%+v", size)
	}
	fmt.Fprintln(t.Output(), v.log.Size())
}
