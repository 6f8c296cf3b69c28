package watch

import (
	"errors"
	"sync/atomic"
)

// ErrBudget reports that all connections' watches together use as much memory as the budget allows.
var ErrBudget = errors.New("watch: the watches of all connections hold too much memory")

// WatchBytes is the approximate memory per open watch, without the names of its object and view: 720 bytes were
// measured for semaphore watches with a single watching connection.
const WatchBytes = 768

// Budget limits the memory of open watches, over all hubs that share the budget. Safe for concurrent use. A nil
// Budget has no limit.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget with a limit in bytes.
func NewBudget(bytes uint64) *Budget { return &Budget{limit: int64(bytes)} }

// Take counts a watch whose object and view names have the given total length. Take returns false, and counts
// nothing, if the budget is used up.
func (b *Budget) Take(name int) bool {
	if b == nil {
		return true
	}
	cost := int64(WatchBytes + name)
	if b.used.Add(cost) > b.limit {
		b.used.Add(-cost)
		return false
	}
	return true
}

// Give undoes a Take with the same length.
func (b *Budget) Give(name int) {
	if b != nil {
		b.used.Add(-int64(WatchBytes + name))
	}
}

// Used returns the number of counted bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// Limit returns the limit in bytes.
func (b *Budget) Limit() int64 { return b.limit }
