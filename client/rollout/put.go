package rollout

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// Create creates the rollout. If an object with this name exists, Create fails with client.ErrAlreadyExists.
func (r *Rollout) Create(ctx context.Context, spec Spec, by ChangeInfo) error {
	_, _, err := r.put(ctx, field.PutCreate, &spec, by, 0)
	return err
}

// Put creates the rollout or replaces its spec unconditionally.
func (r *Rollout) Put(ctx context.Context, spec Spec, by ChangeInfo) (created bool, err error) {
	_, created, err = r.put(ctx, field.PutEither, &spec, by, 0)
	return created, err
}

// Alter changes the spec with the function change without losing concurrent changes: if another operator was faster,
// change is called again with the newer spec. An error from change ends Alter.
//
// Alter changes no target. Locations are identified by name: removing a location also removes its history.
func (r *Rollout) Alter(ctx context.Context, by ChangeInfo, change func(spec *Spec) error) error {
	return object.Alter(func() (Spec, uint64, error) {
		state, err := r.Describe(ctx, Consistency(client.Strict))
		if err != nil {
			return Spec{}, 0, err
		}
		return state.Spec, state.SpecRevision, nil
	}, func(spec *Spec) error {
		return failed(OpPut, r.Name(), change(spec))
	}, func(spec *Spec, revision uint64) error {
		_, _, err := r.put(ctx, field.PutAlter, spec, by, revision)
		return err
	})
}

func (r *Rollout) put(
	ctx context.Context, mode field.PutMode, spec *Spec, by ChangeInfo, expected uint64,
) (revision uint64, created bool, err error) {
	if spec.Negative() {
		return 0, false, failed(OpPut, r.Name(), failure.BadRequest("the spec has a negative duration or number"))
	}
	err = r.change(ctx, OpPut, func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutPut{
			NodeID: k.Node, Name: k.Name,
			Put: kind.Put{Mode: mode, ExpectedRevision: expected, Spec: *spec, By: by},
		}
	}, func(a *protocol.Answer) { revision, created = a.RolloutPut.Revision, a.RolloutPut.Created })
	return revision, created, err
}

// Delete deletes the rollout. client.ErrPreconditionFailed says that instances have joined; with force the rollout is
// deleted nevertheless, and the instances are notified.
func (r *Rollout) Delete(ctx context.Context, force bool) error {
	return r.change(ctx, OpDelete, func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutDelete{NodeID: k.Node, Name: k.Name, Force: force}
	}, nil)
}
