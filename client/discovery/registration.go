package discovery

import (
	"context"
	"errors"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
)

// Registration is a published endpoint, from Register until Close or the session's end. A Registration is safe for
// concurrent use.
type Registration struct {
	semaphore  *client.Semaphore
	ctx        context.Context // ends with the registration; has its cause
	end        context.CancelCauseFunc
	publishing chan struct{} // capacity 1: one publish at a time
	doubt      chan struct{} // capacity 1: set if the wanted endpoint may be unpublished
	done       chan struct{}

	mu    sync.Mutex // guards the fields below
	lease *client.Lease
	data  []byte // the wanted endpoint
	err   error  // from the latest publish retry
	over  bool
}

// Register publishes an endpoint in the session's node and returns once readers can see the endpoint. It creates the
// semaphore if necessary.
//
// The endpoint stays until Close or until the session ends. With client.Recreate, the endpoint also survives session
// expiry: it is published again with a new order id as soon as there is a new session. The endpoint is also published
// again if its semaphore was deleted.
func Register(ctx context.Context, s *client.Session, name string, endpoint Endpoint) (*Registration, error) {
	data, err := endpoint.encode()
	if err != nil {
		return nil, failed("register in", name, err)
	}
	r := &Registration{
		semaphore:  s.Semaphore(name, client.Limit(client.All)),
		publishing: make(chan struct{}, 1), doubt: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if err := r.publish(ctx, data); err != nil {
		return nil, failed("register in", name, err)
	}
	r.ctx, r.end = context.WithCancelCause(context.Background())
	stop := context.AfterFunc(s.Context(), func() { r.end(context.Cause(s.Context())) })
	go func() {
		defer stop()
		r.keep()
	}()
	return r, nil
}

// publish publishes data and makes it the wanted endpoint. The caller ensures that no other publish runs.
func (r *Registration) publish(ctx context.Context, data []byte) error {
	lease, ok, err := r.semaphore.TryAcquire(ctx, client.Data(data))
	if err != nil {
		return err
	}
	if !ok {
		return ErrFull
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease, r.data, r.err = lease, data, nil
	return nil
}

// Update publishes a new endpoint in the place of the present endpoint, under the old order id. If the update fails,
// the earlier endpoint stays, or is put back.
func (r *Registration) Update(ctx context.Context, endpoint Endpoint) error {
	return failed("update in", r.semaphore.Name(), r.update(ctx, endpoint))
}

func (r *Registration) update(ctx context.Context, endpoint Endpoint) error {
	data, err := endpoint.encode()
	if err != nil {
		return err
	}
	ctx, cancel := object.Within(ctx, r.ctx)
	defer cancel()
	select {
	case r.publishing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.publishing }()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if err = r.publish(ctx, data); err != nil {
		select {
		case r.doubt <- struct{}{}:
		default:
		}
	}
	return err
}

// Close withdraws the endpoint. From the call on the endpoint is not published again, even if the call fails. An error
// says that no host could be reached; the withdrawal goes on in the background, and ends with the session at the
// latest.
func (r *Registration) Close(ctx context.Context) error {
	r.end(ErrWithdrawn)
	<-r.done // no publishing outlasts the end
	r.publishing <- struct{}{}
	defer func() { <-r.publishing }()
	r.mu.Lock()
	lease := r.lease
	r.mu.Unlock()
	if lease.Err() != nil {
		return nil // nothing is published
	}
	return failed("withdraw from", r.semaphore.Name(), lease.Release(ctx))
}

// Fence returns the latest publication's order id.
func (r *Registration) Fence() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease.Fence()
}

// Done returns a channel that is closed when the registration has ended for good: by Close, or because the session
// ended without being recreated. Err returns the reason.
func (r *Registration) Done() <-chan struct{} { return r.done }

// Err returns nil while the endpoint is published, the obstacle while it is being published again, and after Done why
// the registration is over: ErrWithdrawn, or the *client.SessionEnd.
func (r *Registration) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.err != nil {
		return r.err
	}
	return r.lease.Err()
}

var (
	// ErrWithdrawn: the user closed the registration.
	ErrWithdrawn = errors.New("the endpoint was withdrawn")
	// ErrFull: the semaphore was made with a limit, and as many endpoints as the limit allows are published.
	ErrFull = errors.New("the semaphore has a limit, which is reached; endpoint lists need a semaphore without a limit")
)

// failed adds the operation and the subject to an error.
func failed(operation, name string, err error) error {
	return failure.OfName("discovery", operation, name, err)
}
