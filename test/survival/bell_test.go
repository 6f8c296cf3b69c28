//go:build linux

package survival_test

import (
	"sync"
	"testing"
	"time"
)

// bell tells everybody who waits that something has changed.
type bell struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next ring; nil where nobody waits
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// rings returns what is closed by the next ring.
func (b *bell) rings() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// await waits until something is so, and asks again whenever the bell rings.
func await(t *testing.T, what string, b *bell, is func() bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		rings := b.rings() // before it is asked: a ring in between counts
		if is() {
			return
		}
		select {
		case <-rings:
		case <-late.C:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// receive waits for what comes through a channel.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("not within %v: %s", patience, what)
		panic("unreachable")
	}
}
