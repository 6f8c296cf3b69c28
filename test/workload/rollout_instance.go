package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/history"
)

// instance applies versions in one location, as a rollout member or by polling.
type instance struct {
	worker
	location string
	polls    bool
	member   *rollout.Member
	session  *client.Session
	leads    bool
	joins    int
}

// run takes part in one session at a time.
func (i *instance) run(ctx context.Context) {
	i.inSessions(ctx, func(ctx context.Context, s *client.Session) {
		for ctx.Err() == nil && i.takePart(ctx, s) {
		}
	})
}

// takePart joins, takes part for a while, and leaves. It reports whether to do so again in the same session.
func (i *instance) takePart(ctx context.Context, s *client.Session) (again bool) {
	m, err := rollout.Join(ctx, s, i.name, rollout.Instance{
		Name: fmt.Sprintf("%d-%d", i.Number, i.number), Location: i.location,
	}, rollout.Manual(), rollout.Backoff(i.Think, 10*i.Think))
	if err != nil {
		// The rollout does not exist yet, or the previous session has not ended.
		return i.pause(ctx)
	}
	i.session, i.member, i.leads = s, m, false
	i.joins++
	joined := history.Joined{Rollout: i.of(), Participant: history.Participant{
		Member: i.memberNumber(), Location: i.location, Session: s.ID(),
	}}
	i.Recorder.Joined(joined)
	if i.polls {
		i.poll(ctx)
	} else {
		i.follow(ctx)
	}
	if ctx.Err() != nil && s.Context().Err() == nil {
		return false // takes part until the client ends
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	joined.Session = 0
	i.Recorder.Joined(joined)
	p := i.begin(s, i.role(history.Follow))
	err = m.Leave(leaving)
	p.finish(err)
	return err == nil
}

// follow applies each target shown to the member.
func (i *instance) follow(ctx context.Context) {
	for t, err := range i.member.Targets(ctx) {
		if err != nil {
			return
		}
		i.shown(t)
		if !i.use(ctx, t) {
			return
		}
	}
}

// poll asks for the target, applies it, and reports it with the next poll. A target whose version is already in use is
// reported as reached.
func (i *instance) poll(ctx context.Context) {
	var current, said uint64 // seq in use, and last reported generation
	var last *rollout.Target
	for i.pause(ctx) {
		report := func(error) {}
		if last != nil && last.Seq == current && last.Generation != said {
			report = i.begin(i.session, i.about(history.Reach, last)).finish
			said = last.Generation
		}
		asked, cancel := context.WithTimeout(ctx, 30*time.Second)
		t, _, err := i.member.Ask(asked, current)
		cancel()
		report(err)
		if err != nil || t == nil {
			continue
		}
		i.shown(t)
		if last = t; t.Seq != current && i.works(ctx, t) {
			current = t.Seq
		}
		if !i.changeRole(ctx) {
			return
		}
	}
}

// memberNumber is the member's number at its client.
func (i *instance) memberNumber() int { return i.number + 100*i.joins }

// shown records a target.
func (i *instance) shown(t *rollout.Target) {
	i.Recorder.Target(history.Target{
		Rollout: i.of(), Member: i.memberNumber(), Location: i.location, Generation: t.Generation, Seq: t.Seq,
		Mark: string(t.Payload),
	})
}

// use applies a target, and reports the result. It returns whether to continue.
func (i *instance) use(ctx context.Context, t *rollout.Target) bool {
	if i.works(ctx, t) {
		p := i.begin(i.session, i.about(history.Reach, t))
		p.finish(i.member.Reached(ctx, t))
	}
	return i.changeRole(ctx)
}

// about is a report about a target.
func (i *instance) about(kind history.RequestKind, t *rollout.Target) history.Request {
	return history.Request{
		Kind: kind, Member: i.memberNumber(), Location: i.location, Seq: t.Seq, Generation: t.Generation,
	}
}

// works tries to apply a target, and returns the result. It reports a failure to the rollout.
func (i *instance) works(ctx context.Context, t *rollout.Target) bool {
	if !Sleep(t.Context(), UpTo(i.random, i.Think)) {
		return false // there is a newer target
	}
	code := ""
	switch {
	case i.is(string(t.Payload), bad):
		code = codeBad
	case !i.one(8):
		return true
	}
	p := i.begin(i.session, i.about(history.Fail, t))
	p.finish(i.member.Failed(ctx, t, code, errors.New("it is of no use")))
	return false
}

// changeRole becomes a leader, as a rule, and a follower for a while now and then. It reports whether to go on as an
// instance.
func (i *instance) changeRole(ctx context.Context) bool {
	switch {
	case i.one(20):
		p := i.begin(i.session, i.role(history.Follow))
		i.leads = false
		p.finish(i.member.Follow(ctx))
		i.pause(ctx)
	case i.one(30):
		return false
	}
	if !i.leads {
		p := i.begin(i.session, i.role(history.Lead))
		err := i.member.Lead(ctx)
		i.leads = err == nil
		p.finish(err)
	}
	return true
}

func (i *instance) role(kind history.RequestKind) history.Request {
	return history.Request{Kind: kind, Member: i.memberNumber(), Location: i.location}
}
