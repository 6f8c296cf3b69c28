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

// PublishOption adds properties to a published version.
type PublishOption func(*publication)

type publication struct {
	kind.Publication
	lease *client.Lease
}

// Label sets the version's display name, such as a build, commit or timestamp.
func Label(text string) PublishOption { return func(p *publication) { p.Label = text } }

// Author sets the version's publisher.
func Author(name string) PublishOption { return func(p *publication) { p.By.Author = name } }

// Reason is why the version is published.
func Reason(text string) PublishOption { return func(p *publication) { p.By.Reason = text } }

// Expect publishes the version only if seq equals the newest version ever published, or 0 if there was none. Otherwise
// Publish fails with client.ErrPreconditionFailed.
func Expect(seq uint64) PublishOption {
	return func(p *publication) { p.Compare, p.Expected = true, seq }
}

// Fence publishes the version only if no version was published under a newer lease. client.ErrFenced means that a newer
// version exists, or that this client has lost the lease. All fenced publishers must use leases on the same semaphore.
func Fence(lease *client.Lease) PublishOption { return func(p *publication) { p.lease = lease } }

// FenceToken is Fence for the fencing token from another program's lease.
func FenceToken(token uint64) PublishOption {
	return func(p *publication) { p.Publication.Fence = token }
}

// Publish adds a version to the named rollout in the session's node, exactly once: see Rollout.Publish.
func Publish(
	ctx context.Context, s *client.Session, name string, payload []byte, options ...PublishOption,
) (seq uint64, err error) {
	return NewInSession(s, name).Publish(ctx, payload, options...)
}

// Publish adds a version and returns its seq, which is larger than all earlier seqs. The payload has up to 64 KiB and
// is opaque to the rollout; this client does not keep the payload.
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

// fence returns the token that guards the version, or 0.
func (p *publication) fence() (uint64, error) {
	if p.lease == nil {
		return p.Publication.Fence, nil
	}
	if err := p.lease.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", client.ErrFenced, err)
	}
	return p.lease.Fence(), nil
}
