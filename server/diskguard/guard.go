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

// DefaultInterval is the longest time between two measurements. The guard measures more often, down to leastInterval,
// if a disk that fills at fastest bytes a second would be full before DefaultInterval.
const (
	DefaultInterval = time.Second
	leastInterval   = 20 * time.Millisecond
	fastest         = 2 << 30
)

// ErrFull is the error wrapped by Guard.
var ErrFull = errors.New("the disk of the host is nearly full")

// Config is the configuration of a guard. Volume has no default.
type Config struct {
	Volume Volume
	// Low is how many bytes must be free at least. Zero means DefaultLow of the volume's size.
	Low uint64
	// Reserve, if set, is the path of a file that holds room while changes are taken.
	Reserve string
	// Interval is how often to measure at least.
	Interval time.Duration
	// Log gets a line when changes are refused, and when changes are accepted again.
	Log *slog.Logger
}

// Guard watches a volume. All goroutines may call the methods.
type Guard struct {
	config Config
	// refusal is why changes are refused, nil while changes are accepted.
	refusal atomic.Pointer[error]
	space   atomic.Pointer[Space]
	blind   bool // the last measurement failed; used by measure alone
	unheld  bool // the reserve could not be taken; used by measure alone

	log       atomic.Pointer[Log]
	reserve   reserve
	shrinking atomic.Bool
	rested    time.Time    // from when on the log may be shrunk again; used by measure alone
	rest      atomic.Int64 // how long shrinking rests after the last time

	closeOnce sync.Once
	stop      chan struct{}
	watching  sync.WaitGroup
}

// Start measures the volume now, and again until Close.
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

// interval is the time until the next measurement.
func (g *Guard) interval() time.Duration {
	space := g.space.Load()
	if space == nil {
		return g.config.Interval
	}
	least := min(leastInterval, g.config.Interval)
	return min(max(least, time.Duration(float64(space.Free)/fastest*float64(time.Second))), g.config.Interval)
}

// Close stops measuring. The last result of Guard stays.
func (g *Guard) Close() {
	g.closeOnce.Do(func() { close(g.stop) })
	g.watching.Wait()
}

// Guard returns why changes are to be refused at the moment: an ErrFull, or nil. It is cheap enough to be called for
// every request.
func (g *Guard) Guard() error {
	if refusal := g.refusal.Load(); refusal != nil {
		return *refusal
	}
	return nil
}

// measure decides by the free room. A failed measurement changes nothing: the fault may pass, and refusing changes
// because of the fault would stop a host that has room.
func (g *Guard) measure() {
	space, err := g.config.Volume.Space()
	if err != nil {
		if !g.blind {
			g.config.Log.Warn("the free space of the disk is not known; changes are not guarded against a full one",
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
		g.config.Log.Info("there is room on the disk again, changes are taken", "free_bytes", space.Free)
	case full:
		g.makeRoom(space)
	default:
		g.hold(space)
	}
}

func (g *Guard) refuse(space Space, low uint64) {
	err := fmt.Errorf("%w: %s are free, %s are needed for changes; reads, and what frees room, go on. Delete what is "+
		"not needed, or make room on the disk", ErrFull, size(space.Free), size(low))
	g.refusal.Store(&err)
	g.config.Log.Error("the disk is nearly full, changes are refused until there is room",
		"free_bytes", space.Free, "low_watermark_bytes", low, "resume_bytes", resume(low))
}

// mark is how much must be free in all cases.
func (g *Guard) mark(total uint64) uint64 {
	return cmp.Or(g.config.Low, DefaultLow(total))
}

// resume is how much must be free for changes to be taken again: more than the low mark, so that a disk
// at the mark does not change its mind every second.
func resume(low uint64) uint64 { return low + low/4 }

// Space returns the last measurement, and the low mark; ok is false before the first measurement.
func (g *Guard) Space() (space Space, low uint64, ok bool) {
	found := g.space.Load()
	if found == nil {
		return Space{}, 0, false
	}
	return *found, g.low(found.Total), true
}

// WriteMetrics writes the metrics of the guard, in the text form of Prometheus.
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

// Space is how much room a file system has, in bytes.
type Space struct {
	Total uint64
	// Free is the room this process may still fill.
	Free uint64
}

// Volume measures the room. Tests have their own Volume.
type Volume interface {
	Space() (Space, error)
}

// Directory is the file system of a directory.
type Directory string

// DefaultLow is the low mark for a file system of the given size: a twentieth, but at least 256 MiB and at most 2
// GiB, because the changes under way at a host do not grow with its disk. The mark is never more than a quarter, so a
// small disk can be used at all.
func DefaultLow(total uint64) uint64 {
	const least, most = 256 << 20, 2 << 30
	return min(max(total/20, least), most, total/4)
}

// size shows bytes to people.
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
