package workload

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/history"
)

// errCalm is why a source makes no version when all is to become calm.
var errCalm = errors.New("no version is made any more")

// offer makes versions on request.
func (w *worker) offer(ctx context.Context) {
	w.inSessions(ctx, func(ctx context.Context, s *client.Session) {
		for ctx.Err() == nil {
			// It ends with its session, or if the rollout does not exist yet.
			_ = rollout.Source(ctx, s, w.name, func(ctx context.Context) (rollout.Version, error) {
				return w.makeVersion(ctx, s)
			})
			w.pause(ctx)
		}
	})
}

func (w *worker) makeVersion(ctx context.Context, s *client.Session) (v rollout.Version, err error) {
	if w.calm.Load() || !w.pause(ctx) || w.one(10) {
		return v, errCalm
	}
	mark := w.versionMark(s)
	// The source does not learn whether its version was accepted.
	w.begin(s, history.Request{Kind: history.Offer, Mark: mark}).finish(client.ErrUnavailable)
	return rollout.Version{Payload: []byte(mark), Label: mark}, nil
}

// check passes the gate of a location, except for versions that no checker passes.
func (w *worker) check(ctx context.Context) {
	w.inSessions(ctx, func(ctx context.Context, s *client.Session) {
		for ctx.Err() == nil {
			// It ends with its session, or if the rollout does not exist yet.
			_ = rollout.Gate(ctx, s, w.name, man, gate, func(ctx context.Context, v rollout.Version) rollout.Verdict {
				return w.judge(ctx, s, v)
			})
			w.pause(ctx)
		}
	})
}

func (w *worker) judge(ctx context.Context, s *client.Session, v rollout.Version) rollout.Verdict {
	w.pause(ctx)
	r := history.Request{Kind: history.Judge, Location: man, Seq: v.Seq, Passed: !w.is(v.Label, ungated)}
	w.begin(s, r).finish(client.ErrUnavailable) // the checker does not learn whether its verdict was accepted
	if r.Passed {
		return rollout.Verdict{Result: rollout.GatePassed}
	}
	return rollout.Verdict{Result: rollout.GateFailed, Text: "it lets errors through"}
}
