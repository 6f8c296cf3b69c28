package config

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
)

// limit is that of the semaphores: whoever owns one is the only one.
const limit = 1

// PutOption guards a Put.
type PutOption func(*putConfig)

type putConfig struct {
	guarded  bool
	revision uint64
}

// IfRevision lets a Put take effect only where the config has the revision that Get returned with it; 0 stands
// for none at all. client.ErrPreconditionFailed tells that somebody else was faster, and that nothing changed.
func IfRevision(revision uint64) PutOption {
	return func(p *putConfig) { p.guarded, p.revision = true, revision }
}

// Put makes the value the piece of config of that name, which is created where there is none.
//
// client.ErrUnavailable tells that the outcome is not known. Put does not try again then, because somebody
// else may have put another value meanwhile.
func Put(ctx context.Context, c *client.Client, path, name string, value []byte, options ...PutOption) error {
	var p putConfig
	for _, o := range options {
		o(&p)
	}
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
		// Somebody else has created it in between.
	}
}

// replace puts the value in the place of a certain one, or of none.
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

// PutGuarded makes the value the piece of config that the lease is of, if the lease is still held; otherwise
// nothing changes, and the error is client.ErrFenced. The host decides that, so a process that was paused
// while it held the lease cannot overwrite what the next holder has put.
//
// Another error tells that the session or the context ended before the host had answered: the outcome is not
// known then.
//
// The lease is one of the semaphore itself, which keeps Edit out as well:
//
//	lease, err := session.Semaphore("limits", client.Limit(1)).Acquire(ctx)
func PutGuarded(ctx context.Context, lease *client.Lease, value []byte) error {
	return failed("put", lease.Name(), lease.Update(ctx, value))
}
