package config

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
)

// limit is the limit of the semaphores: a semaphore that has an owner has no second owner.
const limit = 1

// PutOption guards a Put.
type PutOption func(*putConfig)

type putConfig struct {
	guarded  bool
	revision uint64
}

// IfRevision lets a Put take effect only if the config has the revision that Get returned; 0 stands for a piece that
// does not exist. client.ErrPreconditionFailed says that another program was faster, and that nothing changed.
func IfRevision(revision uint64) PutOption {
	return func(p *putConfig) { p.guarded, p.revision = true, revision }
}

// Put makes the value the piece of config of a name. The piece is created if it does not exist.
//
// client.ErrUnavailable says that the outcome is not known. Put does not try again then, because another program may
// have put another value meanwhile.
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
		// Another program has created the piece in between.
	}
}

// replace puts the value in the place of a certain value, or of none.
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

// PutGuarded makes the value the piece of config of the lease's semaphore, if the lease is still held; otherwise
// nothing changes, and the error is client.ErrFenced. The host decides, so a process that was paused while it held the
// lease cannot overwrite a value of the next holder.
//
// Another error says that the session or the context ended before the host had answered: the outcome is not known
// then.
//
// The lease is a lease of the semaphore itself, and keeps Edit out as well:
//
//	lease, err := session.Semaphore("limits", client.Limit(1)).Acquire(ctx)
func PutGuarded(ctx context.Context, lease *client.Lease, value []byte) error {
	return failed("put", lease.Name(), lease.Update(ctx, value))
}

// Get returns a piece of config, and a revision for IfRevision. The revision grows with every change of the piece, and
// may grow without a change. client.ErrSemaphoreNotFound says that the piece does not exist.
//
// Get sees every Put that has returned before the call. Such a read costs a round among the hosts, so a program that
// asks again and again should Watch.
func Get(ctx context.Context, c *client.Client, path, name string) (value []byte, revision uint64, err error) {
	d, err := c.Node(path).Describe(ctx, name, client.WithConsistency(client.Strict))
	if err != nil {
		return nil, 0, failed("get", name, err)
	}
	return d.Data, d.Revision, nil
}

// failed puts the operation and the subject in front of an error.
func failed(operation, name string, err error) error {
	return failure.OfName("config", operation, name, err)
}
