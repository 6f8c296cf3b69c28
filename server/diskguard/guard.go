package diskguard

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultInterval is how often a guard measures at least. It does so more often, down to leastInterval, where a disk
// that fills at fastest bytes a second would be full by then.
const (
	DefaultInterval = time.Second
	leastInterval   = 20 * time.Millisecond
	fastest         = 2 << 30
)

// ErrFull is what Guard returns wrapped.
var ErrFull = errors.New("the disk of the host is nearly full")

// Config is what a guard is made of. Volume has no default.
type Config struct {
	Volume Volume
	// Low is how many bytes must be free at least. Zero means DefaultLow of the volume's size.
	Low uint64
	// Reserve, if set, is the path of a file that holds room while changes are taken.
	Reserve string
	// Interval is how often to measure at least.
	Interval time.Duration
	// Log has a line when changes are refused, and when they are accepted again.
	Log *slog.Logger
}

// Guard watches a volume. Its methods may be called from any goroutine.
type Guard struct {
	config Config
	// refusal is why changes are refused, nil while they are not.
	refusal atomic.Pointer[error]
	space   atomic.Pointer[Space]
	blind   bool // the last measurement failed; used by measure alone
	unheld  bool // the reserve could not be taken; used by measure alone

	log       atomic.Pointer[Log]
	reserve   reserve
	shrinking atomic.Bool
	rested    time.Time    // from when on the log may be shrunk again; used by measure alone
	rest      atomic.Int64 // for how long it rests after the last time

	closeOnce sync.Once
	stop      chan struct{}
	watching  sync.WaitGroup
}

// Start measures the volume now, and again until Close.
func Start(config Config) *Guard {
	if config.Interval == 0 {
		config.Interval = DefaultInterval
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
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

// interval is after which time to measure again.
func (g *Guard) interval() time.Duration {
	space := g.space.Load()
	if space == nil {
		return g.config.Interval
	}
	least := min(leastInterval, g.config.Interval)
	return min(max(least, time.Duration(float64(space.Free)/fastest*float64(time.Second))), g.config.Interval)
}

// Close stops measuring. What Guard returned last stays.
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

// measure decides by what is free. A volume that cannot be measured changes nothing: it may be a passing fault, and
// refusing for that reason would stop a host that has room.
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
		g.config.Log.Info("there is room on the disk again, changes are taken", "free", size(space.Free))
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
		"free", size(space.Free), "low_mark", size(low), "goes_on_at", size(resume(low)))
}

// mark is how much must be free in any case.
func (g *Guard) mark(total uint64) uint64 {
	if g.config.Low != 0 {
		return g.config.Low
	}
	return DefaultLow(total)
}

// resume is how much must be free for changes to be taken again: more than the low mark, so that a disk
// at the mark does not change its mind every second.
func resume(low uint64) uint64 { return low + low/4 }

// Space returns what was found last, and the low mark; ok is false while nothing was.
func (g *Guard) Space() (space Space, low uint64, ok bool) {
	found := g.space.Load()
	if found == nil {
		return Space{}, 0, false
	}
	return *found, g.low(found.Total), true
}

// WriteMetrics writes what the guard knows, in the text form that Prometheus reads.
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
	fmt.Fprintf(w, "signalbox_disk_low_mark_bytes %d\n", low)
	fmt.Fprintf(w, "signalbox_disk_refusing_changes %d\n", refusing)
	fmt.Fprintf(w, "signalbox_disk_reserve_bytes %d\n", g.reserve.held())
}

// Space is how much room a file system has, in bytes.
type Space struct {
	Total uint64
	// Free is what this process may still fill.
	Free uint64
}

// Volume measures how much room there is. Tests have their own.
type Volume interface {
	Space() (Space, error)
}

// Directory is the file system of a directory.
type Directory string

// DefaultLow is the low mark for a file system of that size: a twentieth of it, but 256 MiB to 2 GiB,
// because what a host has under way does not grow with its disk, and never more than a quarter, so that
// a small disk can be used at all.
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
