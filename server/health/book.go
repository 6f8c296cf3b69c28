package health

import (
	"slices"
	"strings"
	"sync"
	"time"

	kind "github.com/signalbox/signalbox/protocol/health"
)

const (
	// every is the maximum age of a cached list. Many clients may ask, and metrics are collected regularly, so the
	// host builds at most one list per second.
	every = time.Second
	// steady is the tolerance for a new estimate of an issue's start time. Smaller differences are ignored and the
	// first estimate stays. Estimates vary by milliseconds, and a reader that follows the list should see only real
	// changes.
	steady = 5 * time.Second
	// lasting is how long a counter's growth remains an issue after the counter last grew.
	lasting = 10 * time.Minute
)

// patience is how long an issue must last before it is listed. Issues of these kinds come and go on a healthy host.
var patience = map[kind.Kind]time.Duration{
	kind.HostNotReady: 10 * time.Second, kind.DiskSlow: time.Minute, kind.HostLagging: 10 * time.Second,
}

// Book holds a host's list of issues. Read is safe for concurrent use.
type Book struct {
	gather func(*List)

	mu       sync.Mutex // guards the fields below, and is held while gather builds a list
	made     time.Time
	list     []kind.Issue
	since    map[string]time.Time // start times by key, for listed issues and issues still hidden by patience
	sweeps   map[uint64]*sweep    // by shard
	counters map[kind.Kind]*counter
}

// New returns a Book. For every list the Book calls gather, which adds all of the host's issues. gather must not call
// Read, because the Book is locked meanwhile.
func New(gather func(*List)) *Book {
	return &Book{gather: gather, sweeps: make(map[uint64]*sweep), counters: make(map[kind.Kind]*counter)}
}

// Read returns the host's issues, worst first. The caller must not modify the list, because later callers may get the
// same slice.
func (b *Book) Read(now time.Time) []kind.Issue {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.made.IsZero() && now.Sub(b.made) < every {
		return b.list
	}
	return b.renew(now)
}

// Renew is Read without the cache.
func (b *Book) Renew(now time.Time) []kind.Issue {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.renew(now)
}

// renew rebuilds the list. The lock is held.
func (b *Book) renew(now time.Time) []kind.Issue {
	l := List{Now: now, book: b, seen: make(map[string]bool)}
	b.gather(&l)
	b.made, b.list = now, b.complete(&l)
	return b.list
}

// complete sets every issue's start time, drops issues that are younger than their kind's patience, and then sorts
// and limits the list.
func (b *Book) complete(l *List) []kind.Issue {
	since := make(map[string]time.Time, len(l.all))
	l.all = slices.DeleteFunc(l.all, func(c kind.Issue) bool {
		began, known := b.since[c.Key()]
		if !known {
			began = l.Now
		}
		if !c.Since.IsZero() && (!known || c.Since.Sub(began).Abs() > steady) {
			began = c.Since
		}
		since[c.Key()] = began
		return l.Now.Sub(began) < patience[c.Kind]
	})
	for i := range l.all {
		l.all[i].Since = since[l.all[i].Key()].Truncate(time.Millisecond)
	}
	b.since = since
	slices.SortStableFunc(l.all, kind.Compare)
	return bound(l.all)
}

// bound keeps at most MaxOfKind issues per kind and MaxIssues in total, worst first. The last issue kept for a kind
// counts that kind's dropped issues in More.
func bound(all []kind.Issue) (list []kind.Issue) {
	last, counts := make(map[kind.Kind]int), make(map[kind.Kind]int)
	for _, c := range all {
		at, shown := last[c.Kind]
		if counts[c.Kind]++; shown && (counts[c.Kind] > kind.MaxOfKind || len(list) >= kind.MaxIssues) {
			list[at].More += 1 + c.More
			continue
		}
		if len(list) < kind.MaxIssues {
			last[c.Kind] = len(list)
			list = append(list, c)
		}
	}
	return list
}

// List is the list of issues a call of gather fills.
type List struct {
	Now  time.Time
	book *Book
	all  []kind.Issue
	seen map[string]bool
}

// Add adds an issue, unless the list already contains an issue with the same key.
func (l *List) Add(c kind.Issue) {
	if key := c.Key(); !l.seen[key] {
		l.seen[key] = true
		c.Text, c.WaitsFor = clip(c.Text), clip(c.WaitsFor)
		l.all = append(l.all, c)
	}
}

// clip truncates a text to MaxText bytes, and marks the truncation with dots.
func clip(text string) string {
	if len(text) <= kind.MaxText {
		return text
	}
	const more = " ..."
	return strings.ToValidUTF8(text[:kind.MaxText-len(more)], "") + more
}

// counter is the last value of a monotonic number, and the time when the number last grew.
type counter struct {
	n    uint64
	grew time.Time
}

// grew reports whether a kind's counter has grown within the time lasting, and when. Growth before the first list
// does not count, because its time is unknown.
func (l *List) grew(k kind.Kind, n uint64) (at time.Time, lately bool) {
	c := l.book.counters[k]
	if c == nil {
		c = &counter{n: n}
		l.book.counters[k] = c
	}
	if n > c.n {
		c.n, c.grew = n, l.Now
	}
	return c.grew, !c.grew.IsZero() && l.Now.Sub(c.grew) < lasting
}
