package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/history"
)

// member takes part in a process, in one session at a time.
type member struct {
	worker
	observer bool
	joins    int
}

func (m *member) run(ctx context.Context) {
	m.inSessions(ctx, func(ctx context.Context, s *client.Session) {
		for ctx.Err() == nil && m.takePart(ctx, s) {
		}
	})
}

// takePart joins, takes part for a while, and leaves. It reports whether to do so again in the same session.
func (m *member) takePart(ctx context.Context, s *client.Session) (again bool) {
	m.joins++
	p := &part{
		member: m, session: s, since: m.Recorder.Now(),
		random: rand.New(rand.NewPCG(m.random.Uint64(), uint64(m.joins))),
	}
	change := history.ProcessChange{Kind: history.MemberJoins, Session: s.ID(), Candidate: !m.observer}
	joined := m.beginChange(change)
	joining, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	in, err := process.Join(joining, s, m.name, p.handler(), p.options()...)
	if err == nil {
		p.know(in.ID())
	}
	change.Member = p.known()
	if change.Member == 0 && err == nil {
		err = client.ErrUnavailable // it is over already, with an unknown id
	}
	joined(change, err)
	if err != nil {
		// The process does not exist yet, or the join was given up: then the session may be a member until the client
		// undoes the join.
		m.pause(ctx)
		return joining.Err() == nil
	}
	p.takes(false)
	p.ending.Go(func() { <-in.Done() })
	p.chat(ctx, in)
	if ctx.Err() != nil && s.Context().Err() == nil {
		return false // takes part until the client ends
	}
	return p.leave(ctx, in)
}

// part is one membership, with its records. Handlers may be called before Join has returned.
type part struct {
	*member
	session *client.Session
	since   history.Time // start of the join

	mu     sync.Mutex // guards what follows
	random *rand.Rand
	id     uint64 // 0 while unknown
	place  int
	over   bool
}

func (p *part) options() []process.JoinOption {
	options := []process.JoinOption{
		process.WithName(fmt.Sprintf("%d-%d", p.Number, p.number)),
		process.Create(Processes(p.Pace, p.Gathers)[p.name]),
	}
	if p.observer {
		options = append(options, process.Observer())
	}
	return options
}

// draw draws a number below n.
func (p *part) draw(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.IntN(n)
}

// rare is true once in `of` calls, unless calm.
func (p *part) rare(of int) bool { return p.draw(of) == 0 && !p.calm.Load() }

// sleep waits for a while, and reports whether the context is still alive.
func (p *part) sleep(ctx context.Context, longest time.Duration) bool {
	return Sleep(ctx, time.Duration(1+p.draw(int(longest))))
}

func (p *part) know(id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != 0 {
		p.id = id
	}
}

func (p *part) known() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}

// takes records that the session is a member, or no longer one.
func (p *part) takes(over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = p.over || over
	if p.id != 0 && p.over == over {
		p.Recorder.Report(history.Entry{Part: &history.ProcessPart{
			Process: p.inProcess(), Member: p.id, Session: p.session.ID(), Over: over,
		}})
	}
}

// leave ends the membership, and records the reason. It reports whether the session may join again.
func (p *part) leave(ctx context.Context, in *process.Member) bool {
	p.takes(true)
	if p.session.Context().Err() != nil {
		return false // already in the session's record
	}
	if why := in.Err(); errors.Is(why, process.ErrEvicted) {
		if strings.Contains(why.Error(), "reply timeout") { // operators record their own actions
			p.removed(why)
		}
		return true
	}
	c := history.ProcessChange{Kind: history.MemberLeaves, Session: p.session.ID(), Member: p.known()}
	left := p.beginChange(c)
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := in.Leave(leaving)
	left(c, err)
	return err == nil
}

// removed records that the member was removed at some time since its join.
func (p *part) removed(why error) {
	p.Recorder.Report(history.Entry{Change: &history.ProcessChange{
		Kind: history.MemberIsOut, Process: p.inProcess(), Session: p.session.ID(), Member: p.known(),
		Called: p.since, Returned: p.Recorder.Now(), Outcome: history.Done, Error: why.Error(),
	}})
}

// begin records the start of a handler call, and returns a function to record its end.
func (p *part) begin(r *process.Round, c history.ProcessCall) (end func()) {
	if r != nil {
		p.know(r.Self())
		c.Epoch = r.Epoch()
	}
	p.mu.Lock()
	p.place++
	c.Process, c.Member, c.Place, c.Began = p.inProcess(), p.id, p.place, p.Recorder.Now()
	p.mu.Unlock()
	if c.Member == 0 {
		return func() {} // over before its first round
	}
	begun := c
	number := p.Recorder.Report(history.Entry{Call: &begun})
	return func() {
		c.Ended = p.Recorder.Now()
		p.Recorder.Replace(number, history.Entry{Call: &c})
	}
}

// handler records its calls, and sometimes fails.
func (p *part) handler() process.Handler {
	h := process.Handler{
		Prepare: p.prepare, Coordinate: p.coordinate, Request: p.process,
		Complete: func(ctx context.Context, r *process.Round, result *process.Result) {
			c := history.ProcessCall{Kind: history.CallComplete}
			if err := result.Decode(&c.Mark); err != nil {
				p.Recorder.Note("%v: the result of epoch %d: %v", p.inProcess(), r.Epoch(), err)
			}
			defer p.begin(r, c)()
			p.sleep(ctx, p.Think)
		},
		Cancel: func(r *process.Round) {
			defer p.begin(r, history.ProcessCall{Kind: history.CallCancel})()
			p.sleep(context.Background(), p.Think)
		},
		Terminate: func() {
			p.takes(true)
			p.begin(nil, history.ProcessCall{Kind: history.CallTerminate})()
		},
	}
	if p.observer {
		h.Coordinate = nil
	}
	return h
}

var errUnable = errors.New("it is not able to")

func (p *part) prepare(ctx context.Context, r *process.Round) error {
	c := history.ProcessCall{Kind: history.CallPrepare, Coordinator: r.Coordinator(), Size: r.Size()}
	if p.draw(3) == 0 {
		peers, err := r.Members(ctx)
		for _, peer := range peers {
			c.View = append(c.View, peer.ID)
		}
		over := errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrClosed) ||
			errors.Is(err, process.ErrCancelled) // the context may end a moment later
		if err != nil && ctx.Err() == nil && !over {
			p.Recorder.Note("%v: the members of epoch %d cannot be read: %v", p.inProcess(), r.Epoch(), err)
		}
	}
	defer p.begin(r, c)()
	p.sleep(ctx, p.Think)
	if p.rare(60) {
		p.changed(history.ProcessChange{Kind: history.MemberFails, Member: r.Self(), Epoch: r.Epoch()})
		return errUnable
	}
	return nil
}

// process replies at once, late or never, or with a failure.
func (p *part) process(ctx context.Context, r *process.Round, q *process.Request) (any, error) {
	c := history.ProcessCall{Kind: history.CallRequest, From: q.From}
	if err := q.Decode(&c.Mark); err != nil {
		p.Recorder.Note("%v: a request of epoch %d: %v", p.inProcess(), r.Epoch(), err)
	}
	drawn := p.draw(100)
	if p.calm.Load() {
		drawn = 100
	}
	c.Failed = drawn < 10
	c.Reply = fmt.Sprintf("%s by %d", c.Mark, r.Self())
	defer p.begin(r, c)()
	switch {
	case drawn < 2:
		panic(c.Reply)
	case drawn < 10:
		return nil, errors.New(c.Reply)
	case drawn < 12:
		q.Defer() // and never replied to
		return nil, nil
	case drawn < 30:
		d := q.Defer()
		p.ending.Go(func() {
			if p.sleep(r.Context(), 5*p.Think) {
				_ = d.Reply(r.Context(), c.Reply) // if sending fails, the round is over
			}
		})
		return nil, nil
	case drawn < 45:
		p.sleep(ctx, 5*p.Think)
	case drawn < 47:
		p.sleep(context.Background(), time.Duration(p.draw(int(p.Timeout))))
	}
	return c.Reply, nil
}

// isFailure reports whether a reply is a failure.
func isFailure(r *process.Reply) (text string, failed bool) {
	var f *process.ReplyError
	if errors.As(r.Err, &f) {
		return strings.TrimSpace(f.Text), true
	}
	if r.Err != nil {
		return r.Err.Error(), true
	}
	_ = r.Decode(&text) // an unreadable reply equals no given reply
	return text, false
}
