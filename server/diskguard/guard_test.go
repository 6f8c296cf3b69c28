package diskguard

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// tank is a volume with a level set by the test.
type tank struct {
	mu    sync.Mutex
	space Space
	err   error
}

func (t *tank) Space() (Space, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.space, t.err
}

func (t *tank) set(free uint64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.space.Free, t.err = free, err
}

func TestTheDefaultMarkSuitsTheDisk(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for total, want := range map[uint64]uint64{
		0: 0, 100 * mib: 25 * mib, 512 * mib: 128 * mib, 1 * gib: 256 * mib, 4 * gib: 256 * mib,
		10 * gib: 512 * mib, 20 * gib: 1 * gib, 100 * gib: 2 * gib, 4096 * gib: 2 * gib,
	} {
		if got := DefaultLow(total); got != want {
			t.Errorf("%s: %s, want %s", size(total), size(got), size(want))
		}
	}
}

func TestChangesAreRefusedBelowTheMarkAndTakenWellAboveIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		volume := &tank{space: Space{Total: 1000, Free: 500}}
		g := Start(Config{Volume: volume, Low: 100, Log: slog.New(slog.NewTextHandler(&log, nil))})
		defer g.Close()
		for _, step := range []struct {
			free    uint64
			err     error
			refused bool
		}{
			{500, nil, false},
			{100, nil, false},
			{99, nil, true},
			{100, nil, true},
			{124, nil, true},
			{0, fs.ErrPermission, true}, // not known: as before
			{125, nil, false},
			{100, nil, false},
			{0, fs.ErrPermission, false},
			{0, nil, true},
			{1000, nil, false},
		} {
			volume.set(step.free, step.err)
			time.Sleep(DefaultInterval)
			synctest.Wait()
			err := g.Guard()
			if refused := err != nil; refused != step.refused || refused && !errors.Is(err, ErrFull) {
				t.Errorf("%d free, %v: %v", step.free, step.err, err)
			}
		}
		for line, times := range map[string]int{"nearly full, changes are rejected": 2, "changes are accepted": 2,
			"cannot measure the free disk space": 2} {
			if got := strings.Count(log.String(), line); got != times {
				t.Errorf("%q was logged %d times, want %d:\n%s", line, got, times, log.String())
			}
		}
	})
}

func TestADiskThatIsFullAtTheStart(t *testing.T) {
	g := Start(Config{Volume: &tank{space: Space{Total: 100 << 30, Free: 1 << 30}}})
	defer g.Close()
	err := g.Guard()
	want := "the disk of the host is nearly full: 1024 MiB are free, changes need 2048 MiB; reads and requests " +
		"that free space continue. Delete unused objects, or free disk space"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestMetrics(t *testing.T) {
	g := Start(Config{Volume: &tank{space: Space{Total: 1000, Free: 10}}, Low: 100})
	defer g.Close()
	var b bytes.Buffer
	g.WriteMetrics(&b)
	want := "signalbox_disk_total_bytes 1000\nsignalbox_disk_free_bytes 10\nsignalbox_disk_low_watermark_bytes " +
		"100\nsignalbox_disk_writes_rejected 1\nsignalbox_disk_reserve_bytes 0\n"
	if b.String() != want {
		t.Errorf("got %s", b.String())
	}
	blind := Start(Config{Volume: &tank{err: fs.ErrPermission}})
	defer blind.Close()
	b.Reset()
	if blind.WriteMetrics(&b); b.Len() > 0 || blind.Guard() != nil {
		t.Errorf("got %s, %v", b.String(), blind.Guard())
	}
}

// TestTmpfsIsInMemory: a data directory on tmpfs is lost when the machine restarts.
func TestTmpfsIsInMemory(t *testing.T) {
	for number, want := range map[uint32]bool{0x01021994: true, 0x858458f6: true, 0xef53: false, 0x58465342: false} {
		if got := inMemory(number); got != want {
			t.Errorf("file system %#x is in memory: %t, want %t", number, got, want)
		}
	}
	if mounts, _ := os.ReadFile("/proc/mounts"); strings.Contains(string(mounts), " /dev/shm tmpfs ") {
		if space, err := Directory("/dev/shm").Space(); err != nil || !space.InMemory {
			t.Errorf("/dev/shm: %+v, %v", space, err)
		}
	}
}

func TestARealDirectory(t *testing.T) {
	space, err := Directory(t.TempDir()).Space()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || space.Total == 0 || space.Free > space.Total {
		t.Errorf("%+v, %v", space, err)
	}
	if _, err := Directory("/no/where").Space(); err == nil {
		t.Error("a directory that is not there has space")
	}
}

func BenchmarkGuard(b *testing.B) {
	g := Start(Config{Volume: &tank{space: Space{Total: 1000, Free: 500}}, Low: 100})
	defer g.Close()
	b.ReportAllocs()
	for b.Loop() {
		if g.Guard() != nil {
			b.Fatal("refused")
		}
	}
}
