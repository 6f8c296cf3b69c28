package rollout

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// By is who does something with a rollout, and why. It is kept in the rollout, for people.
type By struct{ Author, Reason string }

// Create makes the rollout. client.ErrAlreadyExists says that there is an object of that name.
func (r *Rollout) Create(ctx context.Context, spec Spec, by By) error {
	_, _, err := r.put(ctx, protocol.PutCreate, &spec, by, 0)
	return err
}

// Put makes the rollout, or gives the one that is there this spec, whatever it has now.
func (r *Rollout) Put(ctx context.Context, spec Spec, by By) (created bool, err error) {
	_, created, err = r.put(ctx, protocol.PutEither, &spec, by, 0)
	return created, err
}

// Alter changes the spec from what it is to what change makes of it, so that no change of another operator gets lost:
// it is called again, with the newer spec, where another was faster. What it returns ends Alter.
//
// No target changes by it. Locations are known by their names: one that is left out is gone with its history.
func (r *Rollout) Alter(ctx context.Context, by By, change func(spec *Spec) error) error {
	for {
		state, err := r.Describe(ctx, Consistency(client.Strict))
		if err != nil {
			return err
		}
		spec := state.Spec
		if err := change(&spec); err != nil {
			return failed(OpPut, r.name, err)
		}
		_, _, err = r.put(ctx, protocol.PutAlter, &spec, by, state.SpecRevision)
		if !errors.Is(err, client.ErrPreconditionFailed) {
			return err
		}
		now, readErr := r.Describe(ctx, Consistency(client.Strict))
		if readErr != nil || now.SpecRevision == state.SpecRevision {
			return err // it was not another operator
		}
	}
}

func (r *Rollout) put(
	ctx context.Context, mode protocol.PutMode, spec *Spec, by By, expected uint64,
) (revision uint64, created bool, err error) {
	if err := spec.check(); err != nil {
		return 0, false, failed(OpPut, r.name, err)
	}
	err = r.change(ctx, OpPut, func(o object) (protocol.RequestMessage, *protocol.Mutation) {
		m := &protocol.RolloutPut{
			NodeID: o.node, Name: o.name, Mode: mode, ExpectedRevision: expected, Spec: spec.message(),
			Author: protocol.View(by.Author), Reason: protocol.View(by.Reason),
		}
		return m, &m.Mutation
	}, func(a *protocol.Answer) { revision, created = a.RolloutPut.Revision, a.RolloutPut.Created })
	return revision, created, err
}

// Delete deletes the rollout. client.ErrPreconditionFailed says that instances have joined; force deletes it
// nevertheless, and they are notified.
func (r *Rollout) Delete(ctx context.Context, force bool) error {
	return r.change(ctx, OpDelete, func(o object) (protocol.RequestMessage, *protocol.Mutation) {
		m := &protocol.RolloutDelete{NodeID: o.node, Name: o.name, Force: force}
		return m, &m.Mutation
	}, nil)
}
