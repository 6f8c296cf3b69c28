package loadgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/client"
)

// fleet contains a run's Clients. For the hosts, a single Client with many connections would be equivalent, but all
// callers would share its locks, watches and cluster view, unlike programs on many machines.
type fleet []*client.Client

// grow opens the missing Clients.
func (f *fleet) grow(ctx context.Context, config *Config, n int) error {
	options := []client.Option{client.WithName("loadgen"), client.WithDialTimeout(dialTime)}
	if config.Dialer != nil {
		options = append(options, client.WithDialer(config.Dialer))
	}
	if config.TLS != nil {
		options = append(options, client.WithTLS(config.TLS))
	}
	if config.Token != "" {
		options = append(options, client.WithToken(config.Token))
	}
	there := len(*f)
	all := append(*f, make(fleet, max(n-there, 0))...)
	*f = all
	return each(ctx, n-there, func(ctx context.Context, i int) (err error) {
		if all[there+i], err = client.Open(ctx, config.Endpoints, options...); err != nil {
			return fmt.Errorf("connection %d of %d: %w", there+i+1, n, err)
		}
		return nil
	})
}

// client returns the Client for a caller, session or watcher; Clients are assigned in turn.
func (f fleet) client(i int) *client.Client { return f[i%len(f)] }

// close closes all Clients. A Client gives its sessions a second to end; remaining sessions end by their timeouts.
func (f *fleet) close() {
	_ = each(context.Background(), len(*f), func(_ context.Context, i int) error {
		if c := (*f)[i]; c != nil {
			_ = c.Close()
		}
		return nil
	})
}

// session starts caller i's session.
func (r *run) session(ctx context.Context, i int) (*client.Session, error) {
	return r.fleet.client(i).Session(ctx, r.node, r.sessionOptions...)
}

// sessions starts a session for every caller.
func (r *run) sessions(ctx context.Context, n int) ([]*client.Session, error) {
	all := make([]*client.Session, n)
	err := each(ctx, n, func(ctx context.Context, i int) (err error) {
		all[i], err = r.session(ctx, i)
		return err
	})
	return all, err
}

// create creates persistent semaphores, named with a common name and a number.
func (r *run) create(ctx context.Context, name string, n int, limit uint64, data []byte) error {
	return each(ctx, n, func(ctx context.Context, i int) error {
		return r.fleet.client(i).Node(r.node).Create(ctx, r.name(name, i), limit, data)
	})
}

// name returns the name of one of the run's semaphores.
func (r *run) name(kind string, i int) string { return fmt.Sprintf("%s%s-%d", r.prefix, kind, i) }

// free checks that no session owns or waits for a semaphore of a kind.
func (r *run) free(ctx context.Context, kind string) error {
	for x, err := range r.fleet.client(0).Node(r.node).Semaphores(ctx, client.Prefix(r.prefix+kind)) {
		switch {
		case err != nil:
			return err
		case x.OwnerCount != 0 || x.WaiterCount != 0:
			return fmt.Errorf("semaphore %q has %d owners and %d waiters, and every caller has released it",
				x.Name, x.OwnerCount, x.WaiterCount)
		}
	}
	return nil
}

// each calls a function for every number below n, many calls concurrently. The first error ends the calls.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, opening) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
