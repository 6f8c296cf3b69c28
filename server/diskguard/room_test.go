package diskguard

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

// basin is a volume with a host's log, its reserve, and unrelated files.
type basin struct {
	reserve reserve

	mu     sync.Mutex
	total  uint64
	others uint64
	log    uint64 // log bytes after the last snapshot
	state  uint64 // size of the next snapshot
	saved  uint64 // size of the last snapshot
	shrunk int
	err    error
}

func (b *basin) Space() (Space, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.others + b.log + b.saved + b.reserve.held()
	return Space{Total: b.total, Free: b.total - min(b.total, used)}, nil
}

func (b *basin) Shrink() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shrunk++
	if b.err != nil {
		return b.err
	}
	b.log, b.saved = 0, b.state
	return nil
}

func (b *basin) ShrinkBytes() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.saved + b.log
}

func (b *basin) change(f func()) {
	b.mu.Lock()
	f()
	b.mu.Unlock()
	time.Sleep(DefaultInterval)
	synctest.Wait()
}

// watched starts a guard for a basin of 1,000 MiB with a threshold of 250 MiB.
func watched(t *testing.T, b *basin, log *bytes.Buffer) *Guard {
	t.Helper()
	b.reserve, b.total = reserve{filepath.Join(t.TempDir(), "reserve")}, 1000*mib
	g := Start(Config{
		Volume: b, Low: 250 * mib, Reserve: b.reserve.path, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	t.Cleanup(g.Close)
	g.Watch(b)
	return g
}

// TestAFullDiskIsShrunk: the log has filled the disk, and can mostly be compacted.
func TestAFullDiskIsShrunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := &basin{state: 20 * mib}
		g := watched(t, b, &log)
		b.change(func() { b.log = 200 * mib })
		if held := b.reserve.held(); held != 125*mib || g.Guard() != nil {
			t.Errorf("%d bytes are held in reserve, %v", held, g.Guard())
		}
		b.change(func() { b.log = 700 * mib })
		if !strings.Contains(log.String(), "changes are rejected") {
			t.Errorf("changes are taken on a full disk:\n%s", log.String())
		}
		if g.Guard() != nil || b.shrunk != 1 {
			t.Errorf("after the log was shrunk %d times: %v", b.shrunk, g.Guard())
		}
	})
}

// TestChangesAreRefusedWhileThereIsRoomForASnapshot: with a later refusal, the log could no longer be compacted.
func TestChangesAreRefusedWhileThereIsRoomForASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &basin{saved: 100 * mib}
		g := watched(t, b, new(bytes.Buffer))
		for g.Guard() == nil {
			b.change(func() { b.log += 10 * mib; b.state = b.saved + b.log })
		}
		if space, _ := b.Space(); space.Free < b.state {
			t.Errorf("%d bytes are free for a snapshot of %d", space.Free, b.state)
		}
		full := b.state
		for range 30 { // as large as before, in a snapshot now
			b.change(func() {})
		}
		if g.Guard() == nil || b.log != 0 {
			t.Errorf("%v with a state that is too large for the disk, %d of the log", g.Guard(), b.log)
		}
		b.change(func() { b.state, b.log = full*2/3, 1 })
		for range 60 { // it pauses between snapshots
			b.change(func() {})
		}
		if g.Guard() != nil {
			t.Errorf("with a third less: %v", g.Guard())
		}
	})
}

// TestTheReserveIsGivenBackWhereOthersFillTheDisk, and held again before changes are taken.
func TestTheReserveIsGivenBackWhereOthersFillTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := &basin{state: 200 * mib, saved: 200 * mib, err: errors.New("no room")}
		g := watched(t, b, &log)
		b.change(func() {})
		if b.reserve.held() != 125*mib {
			t.Fatalf("%d bytes are held", b.reserve.held())
		}
		b.change(func() { b.others = 660 * mib })
		if space, _ := b.Space(); b.reserve.held() != 0 || space.Free != 140*mib || g.Guard() == nil {
			t.Errorf("%d bytes are held, %d free: %v", b.reserve.held(), space.Free, g.Guard())
		}
		for range 30 {
			b.change(func() {})
		}
		if b.shrunk < 3 || b.shrunk > 7 {
			t.Errorf("the log was shrunk %d times in half a minute", b.shrunk)
		}
		b.change(func() { b.others = 400 * mib }) // enough for changes, but not with the reserve
		if g.Guard() == nil || b.reserve.held() != 0 {
			t.Errorf("%d bytes are held: %v", b.reserve.held(), g.Guard())
		}
		b.change(func() { b.others = 300 * mib })
		if g.Guard() != nil || b.reserve.held() != 125*mib {
			t.Errorf("%d bytes are held: %v", b.reserve.held(), g.Guard())
		}
		for _, line := range []string{"released the disk reserve", "could not free disk space", "changes are " +
			"accepted"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("%q was not logged:\n%s", line, log.String())
			}
		}
	})
}

// TestASnapshotLeavesRoomForTheLog: the snapshot is aborted before it uses that space.
func TestASnapshotLeavesRoomForTheLog(t *testing.T) {
	b := &basin{total: 1000 * mib}
	g := Start(Config{Volume: b, Low: 100 * mib})
	defer g.Close()
	for _, step := range []struct {
		others, bytes uint64
		fits          bool
	}{
		{975 * mib, 0, true},
		{975*mib + 1, 0, false},
		{900 * mib, 75 * mib, true},
		{900 * mib, 75*mib + 1, false},
	} {
		b.others = step.others
		if err := g.Room(step.bytes); (err == nil) != step.fits || err != nil && !errors.Is(err, ErrNoRoom) {
			t.Errorf("%d bytes beside %d: %v", step.bytes, step.others, err)
		}
	}
}

// TestTheReserveFollowsWhatIsNeeded, but not every small step.
func TestTheReserveFollowsWhatIsNeeded(t *testing.T) {
	r := reserve{filepath.Join(t.TempDir(), "reserve")}
	for _, step := range []struct{ want, held uint64 }{
		{3 * mib, 3 * mib}, {2 * mib, 3 * mib}, {4 * mib, 4 * mib}, {1 * mib, 1 * mib},
	} {
		if err := r.take(step.want); err != nil || r.held() != step.held {
			t.Errorf("want %d: %d are held, %v", step.want, r.held(), err)
		}
	}
	for range 2 {
		if err := r.release(); err != nil || r.held() != 0 {
			t.Errorf("given back: %d are held, %v", r.held(), err)
		}
	}
}
