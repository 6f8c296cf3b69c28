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

// DefaultInterval is the longest time between two measurements. The guard measures more often, down to leastInterval,
// if a heap that grows at fastest bytes a second would reach its limit before DefaultInterval.
const (
	DefaultInterval = time.Second
	leastInterval   = 10 * time.Millisecond
	fastest         = 1 << 30
)

const (
	// collectRest is the least time between two collections of garbage that the guard asks for. collectShare bounds the
	// share of the time spent on them: one part in collectShare.
	collectRest  = 200 * time.Millisecond
	collectShare = 10
)

// Config is the configuration of a guard.
type Config struct {
	// Limit is how much memory the Go runtime may use: Budget.Heap. High is the high mark: Budget.HighMark.
	Limit, High uint64
	// Measure measures the memory in use; nil stands for the Go runtime. Collect collects garbage; nil stands for
	// runtime.GC.
	Measure func() Usage
	Collect func()
	// Log gets a line when growth is refused, and when it is accepted again.
	Log *slog.Logger
}

// Usage is the memory of a process in bytes, as the Go runtime knows it.
type Usage struct {
	// Live is what the last collection of garbage found in use, with the stacks and the tables of the runtime.
	Live uint64
	// InUse is Live with everything that was allocated since, in use or not, and with garbage that was not reused yet.
	InUse uint64
}

// Guard watches the memory of a process. All goroutines may call the methods.
type Guard struct {
	config  Config
	refusal atomic.Pointer[error] // why growth is refused, nil while it is accepted
	usage   atomic.Pointer[Usage]
	rested  time.Time // from when on garbage may be collected again; used by the measuring goroutine alone

	closeOnce sync.Once
	stop      chan struct{}
	watching  sync.WaitGroup
}

// Start measures now, and again until Close.
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

// interval is the time until the next measurement.
func (g *Guard) interval() time.Duration {
	room := float64(g.config.Limit) - float64(g.usage.Load().InUse)
	return min(max(leastInterval, time.Duration(room/fastest*float64(time.Second))), DefaultInterval)
}

// Close stops measuring. The last result of Guard stays.
func (g *Guard) Close() {
	g.closeOnce.Do(func() { close(g.stop) })
	g.watching.Wait()
}

// Guard returns why growth is to be refused at the moment: a shard.ErrMemoryFull, or nil. The call is cheap enough for
// every request.
func (g *Guard) Guard() error {
	if refusal := g.refusal.Load(); refusal != nil {
		return *refusal
	}
	return nil
}

// Fits returns why so many more bytes would bring the memory in use above the high mark: a shard.ErrMemoryFull, or nil.
func (g *Guard) Fits(more uint64) error {
	if u := g.config.Measure(); u.Live+more > g.config.High {
		return fmt.Errorf("%w: %s of %s are in use, and %s were to be added", shard.ErrMemoryFull, size(u.Live),
			size(g.config.High), size(more))
	}
	return nil
}

// FitsState is Fits for a state of so many bytes in the measure of quotas.
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
		g.config.Log.Info("there is memory again, changes are taken", "in_use", size(u.Live))
	}
}

// doubtful reports whether only a collection of garbage can show what is in use: the memory that the last one found in
// use may be free, or the memory allocated since may be more than the high mark allows.
func (g *Guard) doubtful(u Usage) bool {
	high := g.config.High
	return g.refusal.Load() != nil || u.Live <= high && u.InUse > high+(g.config.Limit-high)/2
}

func (g *Guard) refuse(u Usage) {
	err := fmt.Errorf("%w: %s are in use, changes are taken below %s; reads, and what frees memory, go on. Delete "+
		"what is not needed, or give the host more memory", shard.ErrMemoryFull, size(u.Live),
		size(resume(g.config.High)))
	g.refusal.Store(&err)
	g.config.Log.Error("the memory is nearly full, changes are refused until there is more", "in_use", size(u.Live),
		"high_mark", size(g.config.High), "goes_on_at", size(resume(g.config.High)))
}

// resume is how much may be in use for growth to be accepted again: less than the high mark, so that a host at the
// mark does not change its mind all the time.
func resume(high uint64) uint64 { return high - high/16 }

// Usage returns the last measurement.
func (g *Guard) Usage() Usage { return *g.usage.Load() }

// High returns the high mark.
func (g *Guard) High() uint64 { return g.config.High }

// WriteMetrics writes the metrics of the guard, in the text form of Prometheus.
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

// size shows bytes to people.
func size(bytes uint64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
