package health

import (
	"slices"
	"strings"
	"sync"
	"time"

	kind "github.com/signalbox/signalbox/protocol/health"
)

const (
	// every is the age up to which a list is shown again. Many clients may ask, and the metrics ask regularly, so the
	// host makes at most a list per second, however many ask.
	every = time.Second
	// steady is the difference up to which a new estimate of a trouble's start is ignored, and the start shown first
	// stays. Estimates of a start vary by milliseconds, and a reader that follows the list wants to see real changes
	// only.
	steady = 5 * time.Second
	// lasting is how long the growth of a counter remains an issue after the counter last grew.
	lasting = 10 * time.Minute
)

// patience is how long a trouble of a kind must last before the list shows the trouble. Kinds in this map come and go
// within moments on a healthy host.
var patience = map[kind.Kind]time.Duration{
	kind.HostNotReady: 10 * time.Second, kind.DiskSlow: time.Minute, kind.HostLagging: 10 * time.Second,
}

// Book keeps the list of issues of a host. Many goroutines may call Read at once.
type Book struct {
	gather func(*List)

	mu       sync.Mutex // guards the fields below, and is held while gather makes a list
	made     time.Time
	list     []kind.Issue
	since    map[string]time.Time // starts by key, of the last list and of issues still hidden by patience
	sweeps   map[uint64]*sweep    // by shard
	counters map[kind.Kind]*counter
}

// New returns a book. For each list the book calls gather, which adds all issues of the host and must not call Read,
// because the book is locked meanwhile.
func New(gather func(*List)) *Book {
	return &Book{gather: gather, sweeps: make(map[uint64]*sweep), counters: make(map[kind.Kind]*counter)}
}

// Read returns the issues of the host, the worst first. The caller must not change the list, because later callers
// may get this slice too.
func (b *Book) Read(now time.Time) []kind.Issue {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.made.IsZero() && now.Sub(b.made) < every {
		return b.list
	}
	return b.renew(now)
}

// Renew is Read, however young the list is.
func (b *Book) Renew(now time.Time) []kind.Issue {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.renew(now)
}

// renew makes the list anew. The lock is held.
func (b *Book) renew(now time.Time) []kind.Issue {
	l := List{Now: now, book: b, seen: make(map[string]bool)}
	b.gather(&l)
	b.made, b.list = now, b.complete(&l)
	return b.list
}

// complete sets the start of each issue, drops issues that are younger than the patience for their kind, and then
// sorts and bounds the list.
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

// bound keeps at most MaxOfKind issues of a kind and MaxIssues in all, the worst first. The last issue kept of a
// kind counts the dropped issues of the kind in More.
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

// List is the list of issues during the call of gather.
type List struct {
	Now  time.Time
	book *Book
	all  []kind.Issue
	seen map[string]bool
}

// Add adds an issue, unless the list already has an issue with an equal key.
func (l *List) Add(c kind.Issue) {
	if key := c.Key(); !l.seen[key] {
		l.seen[key] = true
		c.Text, c.WaitsFor = clip(c.Text), clip(c.WaitsFor)
		l.all = append(l.all, c)
	}
}

// clip cuts a text down to MaxText bytes, and marks the cut with dots.
func clip(text string) string {
	if len(text) <= kind.MaxText {
		return text
	}
	const more = " ..."
	return strings.ToValidUTF8(text[:kind.MaxText-len(more)], "") + more
}

// counter is the last value of a number that only grows, and the time when the number last grew.
type counter struct {
	n    uint64
	grew time.Time
}

// grew reports whether the counter of a kind has grown within the time lasting, and when. Growth before the first list
// does not count, because the time of the growth is unknown.
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
