package config

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
)

// limit is the semaphore limit, which permits a single owner.
const limit = 1

// PutOption guards a Put.
type PutOption func(*putConfig)

type putConfig struct {
	guarded  bool
	revision uint64
}

// IfRevision makes a Put conditional on the revision that Get returned; 0 means that the entry must not exist. If
// another program was faster, Put changes nothing and fails with client.ErrPreconditionFailed.
func IfRevision(revision uint64) PutOption {
	return func(p *putConfig) { p.guarded, p.revision = true, revision }
}

// Put sets the value of the named config entry, which is created if necessary.
//
// client.ErrUnavailable means that the outcome is unknown. Put does not retry then, because a concurrent Put may have
// succeeded meanwhile.
func Put(ctx context.Context, c *client.Client, path, name string, value []byte, options ...PutOption) error {
	p := option.Apply(&putConfig{}, options)
	return failed("put", name, p.put(ctx, c.Node(path), name, value))
}

func (p *putConfig) put(ctx context.Context, node *client.Node, name string, value []byte) error {
	if p.guarded {
		return p.replace(ctx, node, name, value)
	}
	for {
		err := node.Update(ctx, name, value)
		if !errors.Is(err, client.ErrSemaphoreNotFound) {
			return err
		}
		err = node.Create(ctx, name, limit, value)
		if !errors.Is(err, client.ErrAlreadyExists) {
			return err
		}
		// Another program created the entry concurrently.
	}
}

// replace writes the value on condition that the entry has a certain revision or does not exist.
func (p *putConfig) replace(ctx context.Context, node *client.Node, name string, value []byte) error {
	if p.revision == 0 {
		err := node.Create(ctx, name, limit, value)
		if errors.Is(err, client.ErrAlreadyExists) {
			err = fmt.Errorf("%w: %w", client.ErrPreconditionFailed, err)
		}
		return err
	}
	err := node.Update(ctx, name, value, client.IfRevision(p.revision))
	if errors.Is(err, client.ErrSemaphoreNotFound) {
		err = fmt.Errorf("%w: %w", client.ErrPreconditionFailed, err)
	}
	return err
}

// PutGuarded sets the config entry stored in the lease's semaphore, if the lease is still held; otherwise nothing
// changes, and the error is client.ErrFenced. The host decides, so a process that was paused while holding the lease
// cannot overwrite the next holder's value.
//
// Any other error means that the session or the context ended before the host answered, so the outcome is unknown.
//
// The lease must be for the entry's own semaphore. It also blocks Edit:
//
//	lease, err := session.Semaphore("limits", client.Limit(1)).Acquire(ctx)
func PutGuarded(ctx context.Context, lease *client.Lease, value []byte) error {
	return failed("put", lease.Name(), lease.Update(ctx, value))
}

// Get returns a config entry and its revision for IfRevision. The revision grows with every change and may also grow
// without a change. If the entry does not exist, Get fails with client.ErrSemaphoreNotFound.
//
// Get sees every Put that returned before the call. This needs a network round trip among the hosts, so use Watch
// instead of polling.
func Get(ctx context.Context, c *client.Client, path, name string) (value []byte, revision uint64, err error) {
	d, err := c.Node(path).Describe(ctx, name, client.WithConsistency(client.Strict))
	if err != nil {
		return nil, 0, failed("get", name, err)
	}
	return d.Data, d.Revision, nil
}

// failed adds the operation and the subject to an error.
func failed(operation, name string, err error) error {
	return failure.OfName("config", operation, name, err)
}
