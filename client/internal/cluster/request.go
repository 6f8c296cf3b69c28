package cluster

import (
	"cmp"
	"context"
	"iter"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Do sends an idempotent request until a host gives a final answer or the context ends. read copies data out of the
// response, in the goroutine that reads the connection.
func (c *Cluster) Do(ctx context.Context, t Target, m protocol.RequestMessage, read func(a *protocol.Answer)) error {
	if err := c.scope.Usable(); err != nil {
		return err
	}
	return c.Repeat(ctx, t, func(to *conn.Conn) error {
		c.Name(m)
		return to.RoundTrip(ctx, m, read)
	})
}

// DoOnce is Do for a request that must not be applied twice. It fails if an attempt may have been applied.
func (c *Cluster) DoOnce(
	ctx context.Context, t Target, m protocol.RequestMessage, read func(a *protocol.Answer),
) error {
	if err := c.scope.Usable(); err != nil {
		return err
	}
	var doubt error
	err := c.Repeat(ctx, t, func(to *conn.Conn) error {
		err := to.RoundTrip(ctx, m, read)
		if isDoubtful(err) {
			doubt, err = err, nil
			c.scope.Go(func() { _ = c.Redirect(c.scope.Context(), &retry.Retries{}, doubt, to, HostOf(to)) })
		}
		return err
	})
	return cmp.Or(doubt, err)
}

// isDoubtful reports whether a failed request may have been applied. A host that asks the client to wait has done
// nothing.
func isDoubtful(err error) bool {
	return failure.IsTransport(err) ||
		failure.Status(err) == protocol.StatusUnavailable && failure.Wait(err) == 0
}

// Repeat calls try with a connection to the target's host, and retries after a pause, until try succeeds, the error is
// final, or the context ends.
func (c *Cluster) Repeat(ctx context.Context, t Target, try func(to *conn.Conn) error) error {
	var r retry.Retries
	return c.RepeatBy(ctx, &r, t, try)
}

// RepeatBy is Repeat with a retry state that try may reset.
func (c *Cluster) RepeatBy(ctx context.Context, r *retry.Retries, t Target, try func(to *conn.Conn) error) error {
	return c.repeat(ctx, r, t, func() int { return int(c.requests.Add(1)) }, try)
}

// RepeatOver is Repeat over a session's connection number.
func (c *Cluster) RepeatOver(ctx context.Context, stripe int, t Target, try func(to *conn.Conn) error) error {
	var r retry.Retries
	return c.repeat(ctx, &r, t, func() int { return stripe }, try)
}

func (c *Cluster) repeat(
	ctx context.Context, r *retry.Retries, t Target, stripe func() int, try func(to *conn.Conn) error,
) error {
	var tried Tried
	for {
		r.Leaders = c.Leaders()
		to, h, err := c.Connect(ctx, Leisure, t, stripe(), tried)
		if err == nil {
			err = try(to)
		}
		if err == nil {
			return nil
		}
		tried.Add(h)
		if err := c.Redirect(ctx, r, err, to, h); err != nil {
			return err
		}
		if err := r.Again(ctx, c.scope.Context(), err); err != nil {
			return err
		}
	}
}

// Redirect updates the routing after a request's failure. An error from Redirect ends every request.
func (c *Cluster) Redirect(ctx context.Context, r *retry.Retries, err error, from *conn.Conn, h *Host) error {
	if cause := context.Cause(c.scope.Context()); cause != nil {
		return cause
	}
	switch failure.Status(err) {
	case protocol.StatusMoved:
		if !c.Moved(failure.MovedTo(err), from) {
			r.Lags()
		}
	case protocol.StatusUnavailable:
		// Ask another host: a leader that is partitioned from the other hosts does not know the new leader.
		if !r.Waits(err) {
			_ = c.refresh(ctx, nil, h) // the next try shows whether the answer has helped
		}
	default:
		if failure.IsTransport(err) {
			_ = c.refresh(ctx, nil, h)
		}
	}
	return nil
}

// Pages iterates over a paged list. An error is the last item. read returns the page in a response and makes m request
// the next page.
func Pages[T any](
	ctx context.Context, c *Cluster, where Target, m protocol.RequestMessage,
	read func(a *protocol.Answer) (page []T, more bool),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for more := true; more; {
			var page []T
			err := c.Do(ctx, where, m, func(a *protocol.Answer) { page, more = read(a) })
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}
