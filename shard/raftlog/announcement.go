package raftlog

import "sync"

// announcement wakes all who wait for something to happen the next time.
type announcement struct {
	mu   sync.Mutex
	next chan struct{} // guarded by mu; nil while nobody has asked for it
}

// wait returns what is closed when announce is called next.
func (a *announcement) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == nil {
		a.next = make(chan struct{})
	}
	return a.next
}

func (a *announcement) announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next != nil {
		close(a.next)
		a.next = nil
	}
}
