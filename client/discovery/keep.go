package discovery

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client/internal/retry"
)

// republish is the backoff between publish retries. A failure that removed one endpoint has usually removed many.
var republish = retry.Backoff{First: 50 * time.Millisecond, Most: 5 * time.Second}

// keep publishes the endpoint again whenever it is lost, until the registration ends.
func (r *Registration) keep() {
	defer close(r.done)
	for {
		r.mu.Lock()
		lost := r.lease.Context().Done()
		r.mu.Unlock()
		select {
		case <-lost:
		case <-r.doubt:
		case <-r.ctx.Done():
		}
		if err := r.publishAgain(); err != nil {
			r.mu.Lock()
			r.over, r.err = true, err
			r.mu.Unlock()
			return
		}
	}
}

// publishAgain retries until the wanted endpoint is published or the registration ends; the error is the reason for the
// end. No other error stops the retries, because a previously accepted endpoint is rejected only for reasons that can
// be fixed elsewhere.
func (r *Registration) publishAgain() error {
	for failures := 0; ; failures++ {
		err := r.publishWanted()
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err == nil {
			return nil
		}
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
		_ = retry.Wait(r.ctx, republish.Pause(failures)) // the loop looks at the context
	}
}

func (r *Registration) publishWanted() error {
	select {
	case r.publishing <- struct{}{}:
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
	defer func() { <-r.publishing }()
	r.mu.Lock()
	data := r.data
	r.mu.Unlock()
	return r.publish(r.ctx, data)
}
