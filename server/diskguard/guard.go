package diskguard

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultInterval is the maximum time between two measurements. The guard measures more often, at most every
// leastInterval, if a disk that fills at fastest bytes per second would be full before DefaultInterval.
const (
	DefaultInterval = time.Second
	leastInterval   = 20 * time.Millisecond
	fastest         = 2 << 30
)

// ErrFull is the error wrapped by Guard.
var ErrFull = errors.New("the disk of the host is nearly full")

// Config configures a guard. Volume has no default.
type Config struct {
	Volume Volume
	// Low is the minimum number of free bytes. 0 means DefaultLow for the volume size.
	Low uint64
	// Reserve, if set, is the path of a file that reserves space while changes are accepted.
	Reserve string
	// Interval is the maximum time between measurements.
	Interval time.Duration
	// Log gets a line when the guard starts to reject changes, and when it accepts changes again.
	Log *slog.Logger
}

// Guard monitors a volume. Safe for concurrent use.
type Guard struct {
	config Config
	// refusal is the reason for rejecting changes, nil while changes are accepted.
	refusal atomic.Pointer[error]
	space   atomic.Pointer[Space]
	blind   bool // the last measurement failed; used by measure only
	unheld  bool // the reserve could not be taken; used by measure only

	log       atomic.Pointer[Log]
	reserve   reserve
	shrinking atomic.Bool
	rested    time.Time    // earliest time for the next log compaction; used by measure only
	rest      atomic.Int64 // pause after the last log compaction

	closeOnce sync.Once
	stop      chan struct{}
	watching  sync.WaitGroup
}

// Start measures the volume immediately, and then periodically until Close.
func Start(config Config) *Guard {
	config.Interval = cmp.Or(config.Interval, DefaultInterval)
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	g := &Guard{config: config, reserve: reserve{config.Reserve}, stop: make(chan struct{})}
	g.measure()
	g.watching.Go(func() {
		timer := time.NewTimer(g.interval())
		defer timer.Stop()
		for {
			select {
			case <-g.stop:
				return
			case <-timer.C:
				g.measure()
				timer.Reset(g.interval())
			}
		}
	})
	return g
}

// interval returns the time until the next measurement.
func (g *Guard) interval() time.Duration {
	space := g.space.Load()
	if space == nil {
		return g.config.Interval
	}
	least := min(leastInterval, g.config.Interval)
	return min(max(least, time.Duration(float64(space.Free)/fastest*float64(time.Second))), g.config.Interval)
}

// Close stops measuring. Guard keeps returning its last result.
func (g *Guard) Close() {
	g.closeOnce.Do(func() { close(g.stop) })
	g.watching.Wait()
}

// Guard returns the reason for rejecting changes, an ErrFull, or nil. Guard is cheap enough to call for every
// request.
func (g *Guard) Guard() error {
	if refusal := g.refusal.Load(); refusal != nil {
		return *refusal
	}
	return nil
}

// measure decides by the free space. A failed measurement changes nothing: the fault may be temporary, and rejecting
// changes because of it would stop a host that has space.
func (g *Guard) measure() {
	space, err := g.config.Volume.Space()
	if err != nil {
		if !g.blind {
			g.config.Log.Warn("cannot measure the free disk space; changes continue even if the disk becomes full",
				"error", err)
		}
		g.blind = true
		return
	}
	g.blind = false
	g.space.Store(&space)
	low, missing := g.low(space.Total), g.missing(space)
	switch full := g.refusal.Load() != nil; {
	case !full && space.Free < low+missing:
		g.refuse(space, low+missing)
		g.makeRoom(space)
	case full && space.Free >= resume(low)+missing && g.hold(space):
		g.refusal.Store(nil)
		g.config.Log.Info("disk space is free again, changes are accepted", "free_bytes", space.Free)
	case full:
		g.makeRoom(space)
	default:
		g.hold(space)
	}
}

func (g *Guard) refuse(space Space, low uint64) {
	err := fmt.Errorf("%w: %s are free, changes need %s; reads and requests that free space continue. Delete "+
		"unused objects, or free disk space", ErrFull, size(space.Free), size(low))
	g.refusal.Store(&err)
	g.config.Log.Error("the disk is nearly full, changes are rejected until space is free",
		"free_bytes", space.Free, "low_watermark_bytes", low, "resume_bytes", resume(low))
}

// mark returns the minimum free space, without the space for snapshots.
func (g *Guard) mark(total uint64) uint64 {
	return cmp.Or(g.config.Low, DefaultLow(total))
}

// resume returns the free space above which changes are accepted again. The value is higher than the low mark, so
// that a disk close to the mark does not switch every second.
func resume(low uint64) uint64 { return low + low/4 }

// Space returns the last measurement and the low mark. ok is false before the first measurement.
func (g *Guard) Space() (space Space, low uint64, ok bool) {
	found := g.space.Load()
	if found == nil {
		return Space{}, 0, false
	}
	return *found, g.low(found.Total), true
}

// WriteMetrics writes the guard's metrics in the Prometheus text format.
func (g *Guard) WriteMetrics(w io.Writer) {
	space, low, ok := g.Space()
	if !ok {
		return
	}
	refusing := 0
	if g.Guard() != nil {
		refusing = 1
	}
	fmt.Fprintf(w, "signalbox_disk_total_bytes %d\n", space.Total)
	fmt.Fprintf(w, "signalbox_disk_free_bytes %d\n", space.Free)
	fmt.Fprintf(w, "signalbox_disk_low_watermark_bytes %d\n", low)
	fmt.Fprintf(w, "signalbox_disk_writes_rejected %d\n", refusing)
	fmt.Fprintf(w, "signalbox_disk_reserve_bytes %d\n", g.reserve.held())
}

// Space is the space in a file system, in bytes.
type Space struct {
	Total uint64
	// Free is the space the process may still fill.
	Free uint64
	// InMemory is set if the volume loses its content when the machine restarts, as tmpfs does.
	InMemory bool
}

// Volume measures disk space. Tests provide their own Volume.
type Volume interface {
	Space() (Space, error)
}

// Directory measures the file system that contains the directory.
type Directory string

// DefaultLow returns the low mark for a file system size: one twentieth, but at least 256 MiB and at most 2 GiB,
// because the changes in progress on a host do not grow with its disk. The mark is never more than a quarter, so that
// small disks remain usable.
func DefaultLow(total uint64) uint64 {
	const least, most = 256 << 20, 2 << 30
	return min(max(total/20, least), most, total/4)
}

// size formats bytes for messages.
func size(bytes uint64) string {
	switch {
	case bytes >= 10<<30:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 10<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
