package http

import (
	"context"
	"sync"
	"time"
)

const (
	// loadEvery is how often a host is measured, and loadKept for how many times that is kept: half an hour.
	loadEvery = 5 * time.Second
	loadKept  = 360
)

// Load is what a host did between two measurements.
type Load struct {
	At time.Time
	// PerSecond is how many requests it answered, Failed how many of them with another status than SUCCESS.
	PerSecond float64
	Failed    float64 `name:"failed_per_second"`
	// P50 and P99 are how long an answer took: the median, and of all but one in a hundred.
	P50 float64 `name:"p50_ms"`
	P99 float64 `name:"p99_ms"`
	// CommitP99 is how long a batch took to take effect, of all but one in a hundred.
	CommitP99 float64 `name:"commit_p99_ms"`
	// DiskFree and DiskTotal are bytes of the file system of its data.
	DiskFree  uint64
	DiskTotal uint64
}

// loads are the latest measurements of a host.
type loads struct {
	mu   sync.Mutex
	kept []Load
}

func (l *loads) add(one Load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) >= loadKept {
		l.kept = append(l.kept[:0], l.kept[1:]...)
	}
	l.kept = append(l.kept, one)
}

func (l *loads) all() []Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Load{}, l.kept...)
}

// run measures until the context ends.
func (l *loads) run(ctx context.Context, measure func() Load) {
	for {
		l.add(measure())
		if rest(ctx, loadEvery) != nil {
			return
		}
	}
}

// loadRoutes are about the host that answers.
func loadRoutes() []route {
	return []route{
		get("/load", "Hosts", "see", "Shows what the host that answers did, every five seconds of the last half hour",
			func(ctx context.Context, c *call, _ *none) (list[Load], error) {
				if err := c.caller.Ping(ctx); err != nil {
					return list[Load]{}, err // the token may be good no more
				}
				return list[Load]{Items: c.gateway.loads.all()}, nil
			}),
	}
}
