//go:build linux

package survival_test

import (
	"sync"
	"testing"
	"time"
)

// notifier notifies waiting goroutines of changes.
type notifier struct {
	mu      sync.Mutex
	changed chan struct{} // closed by the next change; nil without a waiting goroutine
}

func (n *notifier) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// next returns a channel closed by the next change.
func (n *notifier) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

// await waits for a condition, checked at every change.
func await(t *testing.T, what string, n *notifier, is func() bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		changed := n.next() // before the check: a change in between counts
		if is() {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// receive waits for a value from a channel.
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
