package hub

import (
	"errors"
	"sync/atomic"
)

// ErrBudget: the watches of all connections hold as much memory as they may.
var ErrBudget = errors.New("hub: the watches of all connections hold too much memory")

// WatchBytes is about the memory that an open watch holds, beside the names of its object and view: 720 bytes were
// measured for watches of semaphores that no other connection watches.
const WatchBytes = 768

// Budget bounds the memory that open watches hold, over all hubs that share it. Any goroutine may use it. A nil Budget
// has no bound.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes uint64) *Budget { return &Budget{limit: int64(bytes)} }

// Take counts a watch of an object with a name, and a view, of so many bytes. It returns false, and counts nothing,
// where the budget is used up.
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

// Give undoes Take.
func (b *Budget) Give(name int) {
	if b != nil {
		b.used.Add(-int64(WatchBytes + name))
	}
}

// Used returns how many bytes are counted.
func (b *Budget) Used() int64 { return b.used.Load() }

// Limit returns how many bytes may be counted.
func (b *Budget) Limit() int64 { return b.limit }
