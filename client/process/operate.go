package process

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Create makes the process. client.ErrAlreadyExists says that there is an object of that name. Members that join make
// it too.
func (p *Process) Create(ctx context.Context, spec Spec, by By) error {
	_, err := p.put(ctx, protocol.PutCreate, &spec, by, 0)
	return err
}

// Put makes the process, or gives the one that is there this spec, whatever it has now.
func (p *Process) Put(ctx context.Context, spec Spec, by By) (created bool, err error) {
	return p.put(ctx, protocol.PutEither, &spec, by, 0)
}

// Alter changes the spec from what it is to what change makes of it, so that no change of another operator gets lost:
// it is called again, with the newer spec, where another was faster. What it returns ends Alter. The round goes on.
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
		_, err := p.put(ctx, protocol.PutAlter, spec, by, revision)
		return err
	})
}

func (p *Process) put(
	ctx context.Context, mode protocol.PutMode, spec *Spec, by By, expected uint64,
) (created bool, err error) {
	if err := spec.check(); err != nil {
		return false, failed(OpPut, p.Name(), err)
	}
	err = p.change(ctx, OpPut, func(k object.Key) (protocol.RequestMessage, *protocol.Mutation) {
		m := &protocol.ProcessPut{
			NodeID: k.Node, Name: k.Name, Mode: mode, ExpectedRevision: expected, Spec: spec.message(),
			Author: protocol.View(by.Author), Reason: protocol.View(by.Reason),
		}
		return m, &m.Mutation
	}, func(a *protocol.Answer) { created = a.ProcessPut.Created })
	return created, err
}

// Delete deletes the process. client.ErrPreconditionFailed says that it has members; force deletes it nevertheless, and
// they end with ErrRemoved.
func (p *Process) Delete(ctx context.Context, force bool) error {
	return p.change(ctx, OpDelete, func(k object.Key) (protocol.RequestMessage, *protocol.Mutation) {
		m := &protocol.ProcessDelete{NodeID: k.Node, Name: k.Name, Force: force}
		return m, &m.Mutation
	}, nil)
}

// Kick removes a member: it ends with ErrRemoved, and the others get another epoch. Its session may join again.
func (p *Process) Kick(ctx context.Context, member uint64, by By) error {
	return p.act(ctx, VerbKick, member, by)
}

// Restart ends the round, also one that is complete, and opens another epoch.
func (p *Process) Restart(ctx context.Context, by By) error { return p.act(ctx, VerbRestart, 0, by) }

func (p *Process) act(ctx context.Context, verb Verb, member uint64, by By) error {
	return p.change(ctx, OpAct, func(k object.Key) (protocol.RequestMessage, *protocol.Mutation) {
		m := &protocol.ProcessAct{
			NodeID: k.Node, Name: k.Name, Verb: protocol.ProcessVerb(verb), MemberID: member,
			Author: protocol.View(by.Author), Reason: protocol.View(by.Reason),
		}
		return m, &m.Mutation
	}, nil)
}
