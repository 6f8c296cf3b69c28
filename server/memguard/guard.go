package memguard

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// DefaultInterval is the maximum time between two measurements. The guard measures more often, at most every
// leastInterval, if a heap that grows at fastest bytes per second would reach its limit before DefaultInterval.
const (
	DefaultInterval = time.Second
	leastInterval   = 10 * time.Millisecond
	fastest         = 1 << 30
)

const (
	// collectRest is the minimum time between two garbage collections that the guard triggers. collectShare limits
	// their share of the time to one part in collectShare.
	collectRest  = 200 * time.Millisecond
	collectShare = 10
)

// Config configures a guard.
type Config struct {
	// Limit is the Go runtime's memory limit: Budget.Heap. High is the high mark: Budget.HighMark.
	Limit, High uint64
	// Measure measures memory use; nil measures the Go runtime. Collect collects garbage; nil means runtime.GC.
	Measure func() Usage
	Collect func()
	// Log gets a line when the guard starts to reject growth, and when it accepts growth again.
	Log *slog.Logger
}

// Usage is a process's memory use in bytes, as reported by the Go runtime.
type Usage struct {
	// Live is the memory in use after the last garbage collection, with the stacks and the runtime's tables.
	Live uint64
	// InUse is Live plus everything allocated since, whether in use or not, including garbage that was not reused
	// yet.
	InUse uint64
}

// Guard monitors a process's memory. Safe for concurrent use.
type Guard struct {
	config  Config
	refusal atomic.Pointer[error] // why growth is rejected, nil while it is accepted
	usage   atomic.Pointer[Usage]
	rested  time.Time // earliest time for the next garbage collection; used by the measuring goroutine only

	closeOnce sync.Once
	stop      chan struct{}
	watching  sync.WaitGroup
}

// Start measures memory use immediately, and then periodically until Close.
func Start(config Config) *Guard {
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	if config.Measure == nil {
		config.Measure = measureRuntime
	}
	if config.Collect == nil {
		config.Collect = runtime.GC
	}
	g := &Guard{config: config, stop: make(chan struct{})}
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
	room := float64(g.config.Limit) - float64(g.usage.Load().InUse)
	return min(max(leastInterval, time.Duration(room/fastest*float64(time.Second))), DefaultInterval)
}

// Close stops measuring. Guard keeps returning its last result.
func (g *Guard) Close() {
	g.closeOnce.Do(func() { close(g.stop) })
	g.watching.Wait()
}

// Guard returns the reason for rejecting growth, a shard.ErrMemoryFull, or nil. Guard is cheap enough to call for
// every request.
func (g *Guard) Guard() error {
	if refusal := g.refusal.Load(); refusal != nil {
		return *refusal
	}
	return nil
}

// Fits returns a shard.ErrMemoryFull if the given number of additional bytes would bring memory use above the high
// mark.
func (g *Guard) Fits(more uint64) error {
	if u := g.config.Measure(); u.Live+more > g.config.High {
		return fmt.Errorf("%w: %s of %s are in use, and the request needs %s more", shard.ErrMemoryFull, size(u.Live),
			size(g.config.High), size(more))
	}
	return nil
}

// FitsState is Fits for a state whose size is given in quota bytes.
func (g *Guard) FitsState(quota uint64) error { return g.Fits(around(quota)) }

// measure decides by the memory in use.
func (g *Guard) measure() {
	u := g.config.Measure()
	if g.doubtful(u) && !time.Now().Before(g.rested) {
		began := time.Now()
		g.config.Collect()
		g.rested = time.Now().Add(max(collectRest, collectShare*time.Since(began)))
		u = g.config.Measure()
	}
	g.usage.Store(&u)
	switch full := g.refusal.Load() != nil; {
	case !full && u.Live > g.config.High:
		g.refuse(u)
	case full && u.Live <= resume(g.config.High):
		g.refusal.Store(nil)
		g.config.Log.Info("memory is free again, changes are accepted", "in_use", size(u.Live))
	}
}

// doubtful reports whether only a garbage collection can show what is in use: memory the last collection found in use
// may now be free, or the memory allocated since may exceed the high mark.
func (g *Guard) doubtful(u Usage) bool {
	high := g.config.High
	return g.refusal.Load() != nil || u.Live <= high && u.InUse > high+(g.config.Limit-high)/2
}

func (g *Guard) refuse(u Usage) {
	err := fmt.Errorf("%w: %s are in use, changes are accepted below %s; reads and requests that free memory "+
		"continue. Delete unused objects, or give the host more memory", shard.ErrMemoryFull, size(u.Live),
		size(resume(g.config.High)))
	g.refusal.Store(&err)
	g.config.Log.Error("memory is nearly full, changes are rejected until memory is free", "in_use", size(u.Live),
		"high_mark", size(g.config.High), "goes_on_at", size(resume(g.config.High)))
}

// resume returns the memory use below which growth is accepted again. The value is lower than the high mark, so that
// a host close to the mark does not switch constantly.
func resume(high uint64) uint64 { return high - high/16 }

// Usage returns the last measurement.
func (g *Guard) Usage() Usage { return *g.usage.Load() }

// High returns the high mark.
func (g *Guard) High() uint64 { return g.config.High }

// WriteMetrics writes the guard's metrics in the Prometheus text format.
func (g *Guard) WriteMetrics(w io.Writer) {
	refusing := 0
	if g.Guard() != nil {
		refusing = 1
	}
	fmt.Fprintf(w, "signalbox_memory_limit_bytes %d\n", g.config.Limit)
	fmt.Fprintf(w, "signalbox_memory_high_watermark_bytes %d\n", g.config.High)
	fmt.Fprintf(w, "signalbox_memory_live_bytes %d\n", g.Usage().Live)
	fmt.Fprintf(w, "signalbox_memory_writes_rejected %d\n", refusing)
}

// size formats bytes for messages.
func size(bytes uint64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
