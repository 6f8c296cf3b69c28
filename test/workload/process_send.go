package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/history"
)

// coordinate exchanges requests with the other members, and completes the round, or sometimes gives it up.
func (p *part) coordinate(ctx context.Context, r *process.Round) (result any, err error) {
	defer p.begin(r, history.ProcessCall{Kind: history.CallCoordinate})()
	change := history.ProcessChange{Kind: history.MemberCompletes, Member: r.Self(), Epoch: r.Epoch()}
	for _, step := range []string{"lock", "execute", "unlock"} {
		if err = p.broadcast(ctx, r, step); err != nil && (r.Context().Err() != nil || p.draw(2) == 0) {
			break
		}
		process.Yield(ctx, func() { p.sleep(ctx, 2*p.Think) })
		if err = nil; p.calm.Load() {
			break
		}
	}
	if err == nil && p.rare(15) {
		err = errUnable
	}
	switch {
	case r.Context().Err() != nil:
		return nil, err // nothing more is sent
	case err != nil:
		change.Kind = history.MemberFails
	default:
		change.Mark = fmt.Sprintf("result-%d", r.Epoch())
	}
	p.changed(change)
	return change.Mark, err
}

// broadcast sends a request to all members, to all others or to a subset, and waits for the replies.
func (p *part) broadcast(ctx context.Context, r *process.Round, step string) error {
	x := history.Exchange{Mark: p.markOf(step), Wanted: r.Size()}
	var options []process.SendOption
	switch p.draw(4) {
	case 0:
		x.Others = true
		x.Wanted--
		options = append(options, process.Others())
	case 1:
		peers, err := r.Members(ctx)
		if err != nil {
			return err
		}
		x.To, x.Wanted = []uint64{}, 0
		for _, peer := range peers {
			if p.draw(2) == 0 {
				x.To = append(x.To, peer.ID)
				x.Wanted++
			}
		}
		options = append(options, process.To(x.To...))
	}
	if p.draw(3) > 0 || p.calm.Load() {
		options = append(options, process.Timeout(time.Duration(1+p.draw(int(4*p.Pace*time.Second)))))
	}
	return p.exchange(ctx, r, x, options)()
}

// markOf is a unique request payload.
func (p *part) markOf(kind string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mark(p.session, kind)
}

// exchange sends a request, and returns a function to wait for its end.
func (p *part) exchange(
	ctx context.Context, r *process.Round, x history.Exchange, with []process.SendOption,
) (wait func() error) {
	x.Process, x.Member, x.Epoch, x.Called = p.inProcess(), r.Self(), r.Epoch(), p.Recorder.Now()
	begun := x
	number := p.Recorder.Report(history.Entry{Exchange: &begun})
	sent, err := r.Start(ctx, x.Mark, with...)
	return func() error {
		var replies process.Replies
		if err == nil {
			replies, err = sent.Wait(ctx)
		}
		x.Returned = p.Recorder.Now()
		x.Outcome, x.Error = outcomeOfExchange(err)
		x.Late = errors.Is(err, process.ErrReplyTimeout)
		for _, reply := range replies {
			text, failed := isFailure(reply)
			x.Replies = append(x.Replies, history.ExchangeReply{From: reply.From, Text: text, Failed: failed})
		}
		p.Recorder.Replace(number, history.Entry{Exchange: &x})
		return err
	}
}

// outcomeOfExchange is Done even with failed or late members, and Unknown if the round was over.
func outcomeOfExchange(err error) (history.Outcome, string) {
	var failed *process.MemberFailedError
	switch {
	case err == nil:
		return history.Done, ""
	case errors.As(err, &failed), errors.Is(err, process.ErrReplyTimeout):
		return history.Done, err.Error()
	case errors.Is(err, process.ErrCancelled):
		return history.Unknown, err.Error()
	}
	return OutcomeOf(err)
}

// chat sends requests to other members of the current rounds, from outside the handler, until the member leaves.
func (p *part) chat(ctx context.Context, in *process.Member) {
	for ctx.Err() == nil && !p.rare(30) {
		waiting, cancel := context.WithTimeout(ctx, time.Duration(1+p.draw(int(20*p.Think))))
		r, err := in.Round(waiting)
		cancel()
		select {
		case <-in.Done():
			return
		default:
		}
		if err == nil && !p.calm.Load() {
			p.talk(ctx, r)
		}
		p.sleep(ctx, 5*p.Think)
	}
}

// talk starts several requests to one member, in order, and waits for their ends.
func (p *part) talk(ctx context.Context, r *process.Round) {
	peers, err := r.Members(ctx)
	if err != nil || len(peers) == 0 {
		return
	}
	to := peers[p.draw(len(peers))].ID
	var waits []func() error
	for range 1 + p.draw(5) {
		x := history.Exchange{Mark: p.markOf("chat"), To: []uint64{to}, Wanted: 1}
		waits = append(waits, p.exchange(ctx, r, x, []process.SendOption{
			process.To(to), process.Timeout(time.Duration(1 + p.draw(int(2*p.Pace*time.Second)))),
		}))
	}
	for _, wait := range waits {
		_ = wait() // the outcome is recorded
	}
}
