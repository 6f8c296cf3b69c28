package watch

import (
	"errors"
	"sync/atomic"
)

// ErrBudget says that the watches of all connections hold as much memory as the budget allows.
var ErrBudget = errors.New("watch: the watches of all connections hold too much memory")

// WatchBytes is about the memory of an open watch, beside the names of its object and view: 720 bytes were measured
// for watches of semaphores with a single watching connection.
const WatchBytes = 768

// Budget bounds the memory of open watches, over all hubs that share the budget. Any goroutine may use it. A nil
// Budget has no bound.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes uint64) *Budget { return &Budget{limit: int64(bytes)} }

// Take counts a watch whose names of object and view have so many bytes together. Take returns false, and counts
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

// Give undoes a Take of as many bytes.
func (b *Budget) Give(name int) {
	if b != nil {
		b.used.Add(-int64(WatchBytes + name))
	}
}

// Used returns how many bytes are counted.
func (b *Budget) Used() int64 { return b.used.Load() }

// Limit returns how many bytes may be counted.
func (b *Budget) Limit() int64 { return b.limit }
