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

// Create makes the process. client.ErrAlreadyExists says that an object has the name already. A member that joins
// makes the process too.
func (p *Process) Create(ctx context.Context, spec Spec, by By) error {
	_, err := p.put(ctx, field.PutCreate, &spec, by, 0)
	return err
}

// Put makes the process, or gives an existing process this spec, whatever the old spec is.
func (p *Process) Put(ctx context.Context, spec Spec, by By) (created bool, err error) {
	return p.put(ctx, field.PutEither, &spec, by, 0)
}

// Alter changes the spec by the function change, so that no change of another operator gets lost: if another operator
// was faster, change is called again, with the newer spec. An error of change ends Alter. The round goes on.
func (p *Process) Alter(ctx context.Context, by By, change func(spec *Spec) error) error {
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
	ctx context.Context, mode field.PutMode, spec *Spec, by By, expected uint64,
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

// checkSpec refuses a spec that would arrive at a host as another spec. Hosts check the limits.
func checkSpec(spec *Spec) error {
	if spec.Negative() {
		return failure.BadRequest("a time or a number of the spec is negative")
	}
	return nil
}

// Delete deletes the process. client.ErrPreconditionFailed says that the process has members; with force the process
// is deleted nevertheless, and the members end with ErrRemoved.
func (p *Process) Delete(ctx context.Context, force bool) error {
	return p.change(ctx, OpDelete, func(k object.Key) protocol.MutationMessage {
		return &protocol.ProcessDelete{NodeID: k.Node, Name: k.Name, Force: force}
	}, nil)
}

// Kick removes a member: the member ends with ErrRemoved, and the other members get another epoch. The session of the
// member may join again.
func (p *Process) Kick(ctx context.Context, member uint64, by By) error {
	return p.act(ctx, kind.Act{Verb: VerbKick, MemberID: member, By: by})
}

// Restart ends the round, also a round that is complete, and opens another epoch.
func (p *Process) Restart(ctx context.Context, by By) error {
	return p.act(ctx, kind.Act{Verb: VerbRestart, By: by})
}

func (p *Process) act(ctx context.Context, act kind.Act) error {
	return p.change(ctx, OpAct, func(k object.Key) protocol.MutationMessage {
		return &protocol.ProcessAct{NodeID: k.Node, Name: k.Name, Act: act}
	}, nil)
}
