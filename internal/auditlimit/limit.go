// Package auditlimit bounds how many entries the clients of one host add to the audit log of the cluster, so that a
// client that changes things all the time does not push out the entries of other clients.
package auditlimit

import (
	"sync"
	"time"
)

const (
	// AtOnce is how many entries may be added one directly after the other.
	AtOnce = 64
	// Every is the time until a further entry may be added.
	Every = 30 * time.Second
)

// Limit counts the entries of one source. The zero Limit has admitted no entry. Many goroutines at once may use it.
type Limit struct {
	mu   sync.Mutex
	next time.Time // when a further entry is admitted, less the time for AtOnce; guarded by mu
}

// Admit reports whether an entry may be added now, and counts the entry if so.
func (l *Limit) Admit(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if earliest := now.Add(-(AtOnce - 1) * Every); l.next.Before(earliest) {
		l.next = earliest
	}
	if l.next.After(now) {
		return false
	}
	l.next = l.next.Add(Every)
	return true
}
