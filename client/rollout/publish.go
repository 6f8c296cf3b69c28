package rollout

import (
	"context"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// PublishOption adds to a version that is published.
type PublishOption func(*publication)

type publication struct {
	kind.Publication
	lease *client.Lease
}

// Label is the name of the version for people: a build, a commit, a timestamp.
func Label(text string) PublishOption { return func(p *publication) { p.Label = text } }

// Author is who publishes the version.
func Author(name string) PublishOption { return func(p *publication) { p.By.Author = name } }

// Reason is why the version is published.
func Reason(text string) PublishOption { return func(p *publication) { p.By.Reason = text } }

// Expect publishes the version only if seq is the seq of the newest version there ever was, 0 for no version.
// client.ErrPreconditionFailed says that another version was published.
func Expect(seq uint64) PublishOption {
	return func(p *publication) { p.Compare, p.Expected = true, seq }
}

// Fence publishes the version only as long as no version was published under a newer lease: client.ErrFenced says that
// a newer version exists, or that this client has lost the lease. All fenced publishers must use leases of one
// semaphore.
func Fence(lease *client.Lease) PublishOption { return func(p *publication) { p.lease = lease } }

// FenceToken is Fence for the fencing token of a lease of another program.
func FenceToken(token uint64) PublishOption {
	return func(p *publication) { p.Publication.Fence = token }
}

// Publish adds a version to the rollout of a name in the session's node, once: see Rollout.Publish.
func Publish(
	ctx context.Context, s *client.Session, name string, payload []byte, options ...PublishOption,
) (seq uint64, err error) {
	return NewInSession(s, name).Publish(ctx, payload, options...)
}

// Publish adds a version, and returns the seq of the version. The seq is larger than the seq of every version before.
// The payload is up to 64 KiB that mean nothing to the rollout; this client does not keep the payload.
func (r *Rollout) Publish(ctx context.Context, payload []byte, options ...PublishOption) (seq uint64, err error) {
	p := option.Apply(&publication{}, options)
	if p.Publication.Fence, err = p.fence(); err != nil {
		return 0, failed(OpPublish, r.Name(), err)
	}
	p.Payload = payload
	err = r.change(ctx, OpPublish, func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutPublish{NodeID: k.Node, Name: k.Name, Publication: p.Publication}
	}, func(a *protocol.Answer) { seq = a.RolloutPublish.Seq })
	return seq, err
}

// fence is the token that guards the version, 0 for none.
func (p *publication) fence() (uint64, error) {
	if p.lease == nil {
		return p.Publication.Fence, nil
	}
	if err := p.lease.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", client.ErrFenced, err)
	}
	return p.lease.Fence(), nil
}
