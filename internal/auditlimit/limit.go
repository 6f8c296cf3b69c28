// Package auditlimit limits how many audit log entries the clients of one host can add, so a client with many changes
// does not push out other clients' entries.
package auditlimit

import (
	"sync"
	"time"
)

const (
	// AtOnce is the maximum burst size.
	AtOnce = 64
	// Every is the time until a further entry may be added.
	Every = 30 * time.Second
)

// Limit counts one source's entries. The zero Limit has admitted no entry. Safe for concurrent use.
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
