package lock

import (
	"context"
	"sync"

	"github.com/signalbox/signalbox/client"
)

// registry finds the place shared by all goroutines with the same session and semaphore in this process. A place stays
// in the registry while callers use it.
type registry struct {
	mu    sync.Mutex // guards byKey, and each place's users
	byKey map[placeKey]*place
}

type placeKey struct {
	session *client.Session
	name    string
}

var places = registry{byKey: make(map[placeKey]*place)}

func (r *registry) get(key placeKey) *place {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.byKey[key]
	if p == nil {
		p = &place{placeKey: key, busy: make(chan struct{}, 1)}
		r.byKey[key] = p
	}
	p.users++
	return p
}

func (r *registry) drop(p *place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(r.byKey, p.placeKey)
	}
}

// obtain gets a lock. If both results are nil, a try found the lock taken.
func obtain(ctx context.Context, s *client.Session, name string, options []Option, try bool) (*Lock, error) {
	a, err := newAsk(options)
	if err != nil {
		return nil, notObtained(name, err)
	}
	if a.bound {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.wait, client.ErrNotAcquired)
		defer cancel()
	}
	p := places.get(placeKey{s, name})
	h, err := p.obtain(ctx, a, try)
	if h == nil {
		places.drop(p)
	}
	if err != nil {
		return nil, notObtained(name, err)
	}
	return h, nil
}
