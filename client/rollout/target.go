package rollout

import (
	"bytes"
	"context"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
)

// Target is a version that an instance must bring into use. The payload is shared and must not be changed.
type Target struct {
	// Generation is larger than all earlier targets' generations, even if the version was a target before.
	Generation uint64
	Seq        uint64
	Label      string
	Payload    []byte
	// Attempt starts at 1 and grows by one with every retry after Failed.
	Attempt int

	ctx context.Context
}

// Context returns a context that ends when the location has another target or no target, with ErrSuperseded as cause,
// and with the loop or member that returned the target.
func (t *Target) Context() context.Context { return t.ctx }

func targetOf(m *protocol.RolloutTarget) *Target {
	if m.Generation == 0 {
		return nil
	}
	return &Target{Generation: m.Generation, Seq: m.Seq, Label: string(m.Label), Payload: bytes.Clone(m.Payload)}
}

// same reports whether two targets are identical, including the payload: generations restart in a rollout that was
// deleted and created again.
func (t *Target) same(u *Target) bool {
	if t == nil || u == nil {
		return t == u
	}
	return t.Generation == u.Generation && t.Seq == u.Seq && t.Label == u.Label && bytes.Equal(t.Payload, u.Payload)
}

// targetIn decodes a view's target, or returns nil.
func targetIn(v *view.View) (*Target, error) {
	var m protocol.RolloutTarget
	err := object.Head(v, &m)
	return targetOf(&m), err
}

// isIn reports whether a view shows the target.
func (t *Target) isIn(v *view.View) bool {
	now, err := targetIn(v)
	return err == nil && t.same(now)
}

// cut shortens text to the rollout limit.
func cut(text string) string { return object.Cut(text, protocol.MaxRolloutTextBytes) }
