package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/history"
)

// ProcessOperator is the Operator for processes.
type ProcessOperator struct{ Desk }

var _ Operator = (*ProcessOperator)(nil)

// Make implements Operator.
func (o *ProcessOperator) Make(ctx context.Context) bool {
	specs := Processes(o.Pace, o.Gathers)
	for _, name := range processNames {
		if !o.made(ctx, func(ctx context.Context) error {
			return process.New(o.Client, o.Node, name).Create(ctx, specs[name], process.ChangeInfo{Reason: "made"})
		}) {
			return false
		}
	}
	return true
}

// Operate implements Operator.
func (o *ProcessOperator) Operate(ctx context.Context) {
	if !o.Make(ctx) {
		return
	}
	for Sleep(ctx, UpTo(o.Random, 6*o.Pace*time.Second)) {
		name := Pick(o.Random, processNames...)
		switch o.Random.IntN(6) {
		case 0:
			o.kick(ctx, name)
		case 1:
			spec := Processes(o.Pace, o.Gathers)[name]
			spec.OnTimeout = Pick(o.Random, process.TimeoutWait, process.TimeoutEvict, process.TimeoutFail)
			spec.ReplyTimeout = Pick(o.Random, 0, 4*o.Pace*time.Second)
			o.alter(ctx, name, spec)
		default:
			o.restart(ctx, name)
		}
	}
}

func (o *ProcessOperator) kick(ctx context.Context, name string) {
	reading, cancel := context.WithTimeout(ctx, operatorTimeout)
	members, err := process.New(o.Client, o.Node, name).Members(reading)
	cancel()
	if err != nil || len(members) == 0 {
		return
	}
	id := Pick(o.Random, members...).ID
	o.do(ctx, name, history.ProcessChange{Kind: history.OperatorKicks, Member: id},
		func(ctx context.Context, p *process.Process, by process.ChangeInfo) error {
			return p.Evict(ctx, id, by)
		})
}

func (o *ProcessOperator) restart(ctx context.Context, name string) bool {
	return o.do(ctx, name, history.ProcessChange{Kind: history.OperatorRestarts},
		func(ctx context.Context, p *process.Process, by process.ChangeInfo) error { return p.Restart(ctx, by) })
}

func (o *ProcessOperator) alter(ctx context.Context, name string, spec process.Spec) bool {
	return o.do(ctx, name, history.ProcessChange{Kind: history.OperatorAlters},
		func(ctx context.Context, p *process.Process, by process.ChangeInfo) error {
			_, err := p.Put(ctx, spec, by)
			return err
		})
}

// do makes a change, and reports whether it certainly took effect.
func (o *ProcessOperator) do(
	ctx context.Context, name string, c history.ProcessChange,
	change func(context.Context, *process.Process, process.ChangeInfo) error,
) bool {
	o.acts++
	c.Process, c.Mark = history.Process{Node: o.Node, Name: name}, fmt.Sprintf("act-%d", o.acts)
	o.inSession(ctx, func(ctx context.Context, s *client.Session) {
		c.Session, c.Called = s.ID(), o.Record.Now()
		err := change(ctx, process.NewInSession(s, name), process.ChangeInfo{Author: "operator", Reason: c.Mark})
		c.Outcome, c.Error = OutcomeOf(err)
		o.Record.Change(c)
	})
	return c.Outcome == history.Done
}

// Finish implements Operator. The last activity is a round in each process, with the original spec.
func (o *ProcessOperator) Finish(ctx context.Context) bool {
	if !o.Make(ctx) {
		return false
	}
	specs := Processes(o.Pace, o.Gathers)
	for _, name := range processNames {
		if !untilDone(ctx,
			func() bool { return o.alter(ctx, name, specs[name]) },
			func() bool { return o.restart(ctx, name) },
		) {
			return false
		}
	}
	return true
}

// ReadEnd implements Operator.
func (o *ProcessOperator) ReadEnd(ctx context.Context) {
	for _, name := range processNames {
		of := history.Process{Node: o.Node, Name: name}
		err := readUntil(ctx, func(ctx context.Context) error {
			f, err := o.read(ctx, name)
			if err == nil {
				o.Record.Process(f)
			}
			return err
		}, func() bool { return len(o.Record.Unfinished(of)) > 0 })
		if err != nil {
			o.Record.Note("in the end %v cannot be read: %v", of, err)
		}
	}
}

// read reads a process's state.
func (o *ProcessOperator) read(ctx context.Context, name string) (f history.ProcessFinal, err error) {
	p, strict := process.New(o.Client, o.Node, name), process.Consistency(client.Strict)
	s, err := p.Describe(ctx, strict)
	if err != nil {
		return f, err
	}
	f = history.ProcessFinal{
		Process: history.Process{Node: o.Node, Name: name}, Epoch: s.Epoch, State: s.Phase.String(),
		Coordinator: s.Coordinator, Kept: resultsKept, Least: Processes(o.Pace, o.Gathers)[name].MinMembers,
	}
	for _, m := range s.Members {
		f.Members = append(f.Members, history.FinalMember{Member: m.ID, Session: m.SessionID, Completed: m.Completed})
	}
	results, err := p.Results(ctx, strict)
	for _, r := range results {
		var mark string
		if err := r.Decode(&mark); err != nil {
			return f, err
		}
		f.Results = append(f.Results, history.FinalResult{Epoch: r.Epoch, Mark: mark})
	}
	return f, err
}
