package process

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// Create creates the process. If an object with this name exists, Create fails with client.ErrAlreadyExists. Join also
// creates the process.
func (p *Process) Create(ctx context.Context, spec Spec, by ChangeInfo) error {
	_, err := p.put(ctx, field.PutCreate, &spec, by, 0)
	return err
}

// Put creates the process or replaces its spec unconditionally.
func (p *Process) Put(ctx context.Context, spec Spec, by ChangeInfo) (created bool, err error) {
	return p.put(ctx, field.PutEither, &spec, by, 0)
}

// Alter changes the spec with the function change without losing concurrent changes: if another operator was faster,
// change is called again with the newer spec. An error from change ends Alter. The round continues.
func (p *Process) Alter(ctx context.Context, by ChangeInfo, change func(spec *Spec) error) error {
	return object.Alter(func() (Spec, uint64, error) {
		state, err := p.Describe(ctx, Consistency(client.Strict))
		if err != nil {
			return Spec{}, 0, err
		}
		return state.Spec, state.SpecRevision, nil
	}, func(spec *Spec) error {
		return failed(OpPut, p.Name(), change(spec))
	}, func(spec *Spec, revision uint64) error {
		_, err := p.put(ctx, field.PutAlter, spec, by, revision)
		return err
	})
}

func (p *Process) put(
	ctx context.Context, mode field.PutMode, spec *Spec, by ChangeInfo, expected uint64,
) (created bool, err error) {
	if err := checkSpec(spec); err != nil {
		return false, failed(OpPut, p.Name(), err)
	}
	err = p.change(ctx, OpPut, func(k object.Key) protocol.MutationMessage {
		return &protocol.ProcessPut{
			NodeID: k.Node, Name: k.Name,
			Put: kind.Put{Mode: mode, ExpectedRevision: expected, Spec: *spec, By: by},
		}
	}, func(a *protocol.Answer) { created = a.ProcessPut.Created })
	return created, err
}

// checkSpec rejects a spec that cannot be encoded unchanged. Hosts check the limits.
func checkSpec(spec *Spec) error {
	if spec.Negative() {
		return failure.BadRequest("the spec has a negative duration or number")
	}
	return nil
}

// Delete deletes the process. client.ErrPreconditionFailed says that the process has members; with force the process
// is deleted nevertheless, and the members end with ErrEvicted.
func (p *Process) Delete(ctx context.Context, force bool) error {
	return p.change(ctx, OpDelete, func(k object.Key) protocol.MutationMessage {
		return &protocol.ProcessDelete{NodeID: k.Node, Name: k.Name, Force: force}
	}, nil)
}

// Evict removes a member: the member ends with ErrEvicted, and the other members get another epoch. The member's
// session may join again.
func (p *Process) Evict(ctx context.Context, member uint64, by ChangeInfo) error {
	return p.act(ctx, kind.Action{Kind: VerbKick, MemberID: member, By: by})
}

// Restart ends the round, even if complete, and opens another epoch.
func (p *Process) Restart(ctx context.Context, by ChangeInfo) error {
	return p.act(ctx, kind.Action{Kind: VerbRestart, By: by})
}

func (p *Process) act(ctx context.Context, act kind.Action) error {
	return p.change(ctx, OpAction, func(k object.Key) protocol.MutationMessage {
		return &protocol.ProcessAction{NodeID: k.Node, Name: k.Name, Action: act}
	}, nil)
}
