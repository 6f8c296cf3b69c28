package workload

import "github.com/signalbox/signalbox/test/history"

// Store is what locks guard: it takes no token below one that it has seen. Who uses it has a lock.
type Store map[history.Semaphore]uint64

// Write writes to the store, and tells whether it is taken.
func (s Store) Write(of history.Semaphore, token uint64) bool {
	if token < s[of] {
		return false
	}
	s[of] = token
	return true
}
