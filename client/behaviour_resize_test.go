package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox/signalbox/client"
)

func TestAHigherLimitLetsInWhoWaits(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		first, second, third := session(t, c), session(t, c), session(t, c)
		sem := first.Semaphore(name, client.Limit(2))
		acquire(t, sem, client.Count(2))
		two := queueing(t, t.Context(), second.Semaphore(name), func(uint64) {}, client.Count(2))
		one := queueing(t, t.Context(), third.Semaphore(name), func(uint64) {})
		before := describe(t, c)
		check(t, sem.Resize(t.Context(), 4, client.IfRevision(before.Revision)))
		check(t, (<-two).err)
		if d := describe(t, c); d.Limit != 4 || d.Count != 4 || d.WaiterCount != 1 {
			t.Errorf("then there is %+v", d.SemaphoreInfo)
		}
		check(t, c.Node(path).Resize(t.Context(), name, 5))
		check(t, (<-one).err)
		if err := sem.Resize(t.Context(), 9, client.IfRevision(before.Revision)); !errors.Is(err,
			client.ErrPreconditionFailed) {
			t.Errorf("with an old revision: %v", err)
		}
		now := describe(t, c)
		check(t, sem.Resize(t.Context(), 5))
		if d := describe(t, c); d.Limit != 5 || d.Revision != now.Revision {
			t.Errorf("the same limit made %+v of %+v", d.SemaphoreInfo, now.SemaphoreInfo)
		}
	})
}

func TestALowerLimitTakesEffectAsOwnersLeave(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		first, second, third := session(t, c), session(t, c), session(t, c)
		sem := first.Semaphore(name, client.Limit(3))
		lease := acquire(t, sem, client.Count(3))
		two := queueing(t, t.Context(), second.Semaphore(name), func(uint64) {}, client.Count(2))
		one := queueing(t, t.Context(), third.Semaphore(name), func(uint64) {})
		check(t, sem.Resize(t.Context(), 1))
		if err := (<-two).err; !errors.Is(err, client.ErrResized) || !errors.Is(err, client.ErrAborted) {
			t.Errorf("who waits for more than the limit gets %v", err)
		}
		if _, err := second.Semaphore(name).Acquire(t.Context(), client.Count(2)); !errors.Is(err,
			client.ErrBadRequest) {
			t.Errorf("who asks for more than the limit gets %v", err)
		}
		check(t, lease.Err())
		if d := describe(t, c); d.Limit != 1 || d.Count != 3 || d.WaiterCount != 1 {
			t.Errorf("then there is %+v", d.SemaphoreInfo)
		}
		if again := acquire(t, sem, client.Count(2)); again != lease {
			t.Error("an owner of more than the limit cannot lower its count")
		}
		check(t, lease.Release(t.Context()))
		check(t, (<-one).err)
	})
}

func TestAViewShowsTheLimitThatThereIs(t *testing.T) {
	playInBubbles(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		node := c.Node(path)
		check(t, node.Create(t.Context(), name, 2, []byte("data")))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		all, owners := watching(t, ctx, c, name), watching(t, ctx, c, name, client.OwnersOnly())
		check(t, node.Resize(t.Context(), name, 7))
		waitForQuiet()
		for _, w := range []*watcher{all, owners} {
			v, changes, n, err := w.last()
			if err != nil || n != 2 || v.Limit != 7 || !changes.LimitChanged || changes.DataChanged || changes.Created {
				t.Errorf("view %d: %+v, %+v, %v", n, v, changes, err)
			}
		}
	})
}

func TestAResizeThatCannotBeIsRefused(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		s := session(t, c)
		lease, err := s.Ephemeral("lock").Lock(t.Context())
		check(t, err)
		for _, x := range []struct {
			what string
			err  error
			want error
		}{
			{"a limit of 0", s.Semaphore(name).Resize(t.Context(), 0), client.ErrBadRequest},
			{"a limit of 0 without a session", c.Node(path).Resize(t.Context(), name, 0), client.ErrBadRequest},
			{"one that does not exist", s.Semaphore(name).Resize(t.Context(), 1), client.ErrSemaphoreNotFound},
			{"an ephemeral one", s.Semaphore("lock").Resize(t.Context(), 1), client.ErrPreconditionFailed},
			{"with a lease", s.Semaphore("lock").Resize(t.Context(), 1, client.Guard(lease)), client.ErrBadRequest},
			{"without a name", c.Node(path).Resize(t.Context(), "", 1), client.ErrBadRequest},
		} {
			if !errors.Is(x.err, x.want) {
				t.Errorf("%s: %v, want %v", x.what, x.err, x.want)
			}
		}
	})
}

// limitHooks keeps the limits that differ from the requested limit.
type limitHooks struct {
	client.NoHooks
	mu   sync.Mutex
	seen []client.LimitMismatch
}

func (h *limitHooks) LimitMismatch(o client.LimitMismatch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, o)
}

func (h *limitHooks) all() []client.LimitMismatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}

func TestAnAcquireUnderAnotherLimitIsLoggedOnce(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, st stage, c *client.Client) {
		hooks, log := &limitHooks{}, &strings.Builder{}
		observed := open(t, st, client.WithHooks(hooks),
			client.WithLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		check(t, c.Node(path).Create(t.Context(), name, 3, nil))
		s := session(t, observed)
		for range 2 {
			check(t, acquire(t, s.Semaphore(name, client.Limit(5))).Release(t.Context()))
		}
		check(t, acquire(t, s.Semaphore(name, client.Limit(3))).Release(t.Context()))
		check(t, acquire(t, s.Semaphore(name)).Release(t.Context()))
		lease, err := s.Ephemeral("lock").Lock(t.Context())
		check(t, err)
		check(t, lease.Release(t.Context()))
		acquire(t, session(t, c).Semaphore(name), client.Count(3))
		if _, ok, err := s.Semaphore(name, client.Limit(4)).TryAcquire(t.Context()); ok || err != nil {
			t.Errorf("a try: %v, %v", ok, err)
		}
		five, four := client.LimitMismatch{Node: path, Name: name, Asked: 5, Limit: 3}, client.LimitMismatch{Node: path,
			Name: name, Asked: 4, Limit: 3}
		if got := hooks.all(); !slices.Equal(got, []client.LimitMismatch{five, four}) {
			t.Errorf("the hooks saw %+v", got)
		}
		if got := log.String(); strings.Count(got, "\n") != 2 ||
			!strings.Contains(got, fmt.Sprintf("semaphore=%s asked=5 limit=3", name)) {
			t.Errorf("logged is\n%s", got)
		}
	})
}

func TestARefusalForAnotherLimitHasBothInItsError(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		check(t, c.Node(path).Create(t.Context(), name, 3, nil))
		s := session(t, c)
		_, acquired := s.Semaphore(name, client.Limit(5)).Acquire(t.Context(), client.Count(4))
		for _, x := range []struct {
			what string
			err  error
			is   error
		}{
			{"an acquire", acquired, client.ErrBadRequest},
			{"a create", s.Semaphore(name).Create(t.Context(), 5, nil), client.ErrAlreadyExists},
			{"a create without a session", c.Node(path).Create(t.Context(), name, 5, nil), client.ErrAlreadyExists},
		} {
			var other *client.LimitMismatch
			if !errors.Is(x.err, x.is) || !errors.As(x.err, &other) ||
				*other != (client.LimitMismatch{Node: path, Name: name, Asked: 5, Limit: 3}) {
				t.Errorf("%s: %v", x.what, x.err)
			}
		}
		var other *client.LimitMismatch
		if err := s.Semaphore(name).Create(t.Context(), 3, nil); !errors.Is(err, client.ErrAlreadyExists) ||
			errors.As(err, &other) {
			t.Errorf("a create with the limit that there is: %v", err)
		}
	})
}
