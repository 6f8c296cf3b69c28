package workload

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/history"
)

// ReadEnd implements Operator.
func (o *RolloutOperator) ReadEnd(ctx context.Context) {
	for _, name := range rolloutNames {
		of := history.Rollout{Node: o.Node, Name: name}
		err := readUntil(ctx, func(ctx context.Context) error {
			f, err := o.read(ctx, name)
			if err == nil {
				o.Record.Rollout(f)
			}
			return err
		}, func() bool { return len(o.Record.NotConverged(of)) > 0 })
		if err != nil {
			o.Record.Note("in the end %v cannot be read: %v", of, err)
		}
	}
}

// read reads a rollout's complete state.
func (o *RolloutOperator) read(ctx context.Context, name string) (f history.RolloutFinal, err error) {
	r, strict := rollout.New(o.Client, o.Node, name), rollout.Consistency(client.Strict)
	s, err := r.Describe(ctx, strict)
	if err != nil {
		return f, err
	}
	f = history.RolloutFinal{Rollout: history.Rollout{Node: o.Node, Name: name}, LastSeq: s.LastSeq, Kept: maxKept}
	for _, v := range s.Versions {
		f.Versions = append(f.Versions, history.FinalVersion{Seq: v.Seq, Mark: v.Label})
	}
	for i, asked := range Rollouts(o.Pace)[name].Locations {
		l, err := readLocation(ctx, r, &s.Locations[i], strict)
		if err != nil {
			return f, err
		}
		l.Name, l.Delay, l.Gated = asked.Name, asked.Delay, len(asked.Gates) > 0
		f.Locations = append(f.Locations, l)
		for x, err := range r.Instances(ctx, l.Name, strict) {
			if err != nil {
				return f, err
			}
			f.Members = append(f.Members, x.SessionID)
		}
	}
	acts, err := r.Actions(ctx, strict)
	for _, a := range acts {
		f.Acts = append(f.Acts, history.FinalAct{
			Number: a.ID, Moment: millis(a.At), Verb: a.Kind.String(), Locations: a.Locations, Seq: a.Seq,
			Mark: a.By.Reason,
		})
	}
	return f, err
}

// readLocation reads a location's target history, without requests.
func readLocation(
	ctx context.Context, r *rollout.Rollout, s *rollout.LocationState, strict rollout.ReadOption,
) (l history.FinalLocation, err error) {
	l = history.FinalLocation{Leaders: s.Leaders, Bypassed: s.Bypassed}
	rows, err := r.History(ctx, s.Name, strict)
	l.Cut = len(rows) >= maxKept-1
	for _, row := range rows {
		l.Targets = append(l.Targets, history.FinalTarget{
			Seq: row.Seq, Generation: row.Generation, Assigned: millis(row.Assigned), Reached: millis(row.Reached),
			Abandoned: millis(row.Abandoned), Automatic: row.Cause < rollout.CausePromote, Cause: row.Cause.String(),
			Waived: row.Waived,
		})
	}
	return l, err
}

// millis is a time in milliseconds of shard time, 0 for never.
func millis(m rollout.Timestamp) uint64 { return uint64(m.Time / time.Millisecond) }
