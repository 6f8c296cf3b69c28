package loadgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/loadgen/report"
)

// epochDelay is how long a process in a run waits for further changes before an epoch opens: the minimum.
const epochDelay = time.Millisecond

// cast is a process with its members. The first member coordinates.
type cast struct {
	run     *run
	process *process.Process
	members []*process.Member
	// began is called on the coordinator when all members are prepared for an epoch. Its result completes the round.
	began func(ctx context.Context, r *process.Round) (any, error)
	// prepared and completed are called on every member.
	prepared, completed func(epoch uint64)
}

// newCast creates a caller's process, and lets the caller's share of members join: at least one.
func newCast(ctx context.Context, r *run, caller int, c *cast) error {
	size := max(r.config.share(caller), 1)
	c.run, c.members = r, make([]*process.Member, size)
	name := r.name("process", caller)
	join := func(ctx context.Context, i int, options ...process.JoinOption) error {
		s, err := r.session(ctx, i)
		if err != nil {
			return err
		}
		options = append(options, process.WithName(instanceName(i)), process.Encoding(process.Raw), process.Existing())
		c.members[i], err = process.Join(ctx, s, name, c.handler(), options...)
		return err
	}
	s, err := r.session(ctx, 0)
	if err != nil {
		return err
	}
	c.process = process.NewInSession(s, name)
	spec := process.Spec{OpenDelay: epochDelay, MaxOpenDelay: epochDelay, MinMembers: size}
	if err := c.process.Create(ctx, spec, process.ChangeInfo{Author: "loadgen"}); err != nil {
		return err
	}
	if err := join(ctx, 0); err != nil {
		return err
	}
	return each(ctx, size-1, func(ctx context.Context, i int) error { return join(ctx, i+1, process.Observer()) })
}

// handler passes a member's events to the cast's functions, and answers a request with the request's mark.
func (c *cast) handler() process.Handler {
	return process.Handler{
		Prepare: func(_ context.Context, r *process.Round) error {
			c.prepared(r.Epoch())
			return nil
		},
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) { return c.began(ctx, r) },
		Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
			return marked(minMark, markOf(q.Bytes())), nil
		},
		Complete: func(_ context.Context, r *process.Round, _ *process.Result) { c.completed(r.Epoch()) },
	}
}

// ignore is for events a workload does not use.
func ignore(uint64) {}

// broadcast sends a request to all members, and checks that every member has replied once, to this request.
func (c *cast) broadcast(ctx context.Context, r *process.Round, payload []byte) error {
	replies, err := r.Broadcast(ctx, payload)
	if err != nil {
		return err
	}
	all := make([]said, len(replies))
	for i, reply := range replies {
		all[i] = said{reply.From, markOf(reply.Bytes())}
	}
	c.judge(all, markOf(payload))
	return nil
}

// said is a member's reply to the request with the mark.
type said struct{ member, mark uint64 }

// judge checks that every member has replied once, to the request with the mark.
func (c *cast) judge(replies []said, mark uint64) {
	from := make(map[uint64]bool, len(replies))
	for _, reply := range replies {
		if from[reply.member] || reply.mark != mark {
			c.run.broken.addf("member %d in %q replied twice, or to a different request", reply.member,
				c.process.Name())
		}
		from[reply.member] = true
	}
	if len(from) != len(c.members) {
		c.run.broken.addf("%d of %d members in %q replied", len(from), len(c.members), c.process.Name())
	}
}

var processBroadcastKind = &kind{
	Info: Info{
		Name: "process-broadcast",
		Summary: "a process coordinator sends a request to all members, and the members reply immediately; every " +
			"caller coordinates a process with a share of the members",
		Operation: "a request to all members, with all replies",
		Checks:    "every member replies once, to the sent request",
		Settings:  []string{"watchers", "data-size"},
	},
	make:     func() workload { return &processBroadcast{} },
	defaults: watchedBy(100),
}

// processBroadcast runs exchanges in a single long round.
type processBroadcast struct {
	plain
	run   *run
	casts []*cast
}

// prepare creates a process for every caller, with a round that lasts until the run ends.
func (pb *processBroadcast) prepare(ctx context.Context, r *run) error {
	pb.run = r
	for i := range r.config.Callers {
		c := &cast{prepared: ignore, completed: ignore, began: untilOver}
		pb.casts = append(pb.casts, c)
		if err := newCast(ctx, r, i, c); err != nil {
			return err
		}
		if err := pb.caller(i)(ctx); err != nil { // the round begins with the first call
			return err
		}
	}
	return nil
}

// untilOver keeps a round running.
func untilOver(ctx context.Context, _ *process.Round) (any, error) {
	process.Yield(ctx, func() { <-ctx.Done() })
	return nil, context.Cause(ctx)
}

func (pb *processBroadcast) caller(i int) operation {
	c, number, payload := pb.casts[i], uint64(0), marked(pb.run.config.Payload, 0)
	return func(ctx context.Context) error {
		r, err := c.members[0].Round(ctx)
		if err != nil {
			return err
		}
		number++
		mark(payload, number)
		return c.broadcast(ctx, r, payload)
	}
}

func (pb *processBroadcast) report(to *report.Report) { to.Watchers = pb.run.config.Watchers }

var processEpochKind = &kind{
	Info: Info{
		Name: "process-epoch",
		Summary: "process epochs follow one after the other: every caller restarts a process with a share of the " +
			"members, and the process opens an epoch after a millisecond",
		Operation: "an epoch with all members prepared",
		Checks:    "epochs increase; every member is prepared for every epoch",
		Settings:  []string{"watchers"},
	},
	make:     func() workload { return &processEpochs{} },
	defaults: watchedBy(100),
}

var processRoundsKind = &kind{
	Info: Info{
		Name: "process-rounds",
		Summary: "process rounds follow one after the other: every caller restarts a process with three members, " +
			"and the coordinator sends a request to all members and completes the round",
		Operation: "a round: all members prepared, a request to all members with all replies, round completed",
		Checks:    "as in process-epoch and process-broadcast; the round is complete on every member",
		Settings:  []string{"data-size"},
	},
	make: func() workload { return &processEpochs{complete: true} },
	defaults: func(c *Config) {
		orElse(&c.Callers, 1)
		c.Watchers = roundMembers * c.Callers
	},
}

// roundMembers is the number of members per process in process-rounds.
const roundMembers = 3

// processEpochs runs epochs, or whole rounds.
type processEpochs struct {
	plain
	complete bool
	run      *run
	callers  []*epochCaller
}

// epochCaller opens a process's epochs.
type epochCaller struct {
	cast
	complete bool
	prepared atomic.Int64
	ends     atomic.Int64
	done     chan uint64 // the epoch
	last     uint64
	payload  []byte
}

// prepare creates a process for every caller, and waits for the first epoch, or for the first round's end.
func (pe *processEpochs) prepare(ctx context.Context, r *run) error {
	pe.run = r
	for i := range r.config.Callers {
		c := &epochCaller{complete: pe.complete, done: make(chan uint64, 16), payload: marked(r.config.Payload, 1)}
		c.cast.began, c.cast.prepared, c.cast.completed = c.begin, c.count, c.end
		pe.callers = append(pe.callers, c)
		if err := newCast(ctx, r, i, &c.cast); err != nil {
			return err
		}
		if err := c.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *epochCaller) count(uint64) { e.prepared.Add(1) }

// begin is called when all members are prepared.
func (e *epochCaller) begin(ctx context.Context, r *process.Round) (any, error) {
	if n := e.prepared.Swap(0); n != int64(len(e.members)) {
		e.run.broken.addf("%d members were prepared for epoch %d in %q, but the process has %d members", n,
			r.Epoch(), e.process.Name(), len(e.members))
	}
	if !e.complete {
		e.done <- r.Epoch()
		return untilOver(ctx, r)
	}
	return nil, e.broadcast(ctx, r, e.payload)
}

// end is called on every member when the round is complete.
func (e *epochCaller) end(epoch uint64) {
	if e.ends.Add(1) == int64(len(e.members)) {
		e.ends.Store(0)
		e.done <- epoch
	}
}

// await waits for an epoch or a round.
func (e *epochCaller) await(ctx context.Context) error {
	select {
	case epoch := <-e.done:
		if epoch <= e.last {
			e.run.broken.addf("epoch %d in %q comes after %d", epoch, e.process.Name(), e.last)
		}
		e.last = epoch
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the epoch after %d: %w", e.last, context.Cause(ctx))
	}
}

func (pe *processEpochs) caller(i int) operation {
	e := pe.callers[i]
	return func(ctx context.Context) error {
		if err := e.process.Restart(ctx, process.ChangeInfo{Author: "loadgen"}); err != nil {
			return err
		}
		return e.await(ctx)
	}
}

// check compares the callers' last epochs with the processes' state.
func (pe *processEpochs) check(ctx context.Context) error {
	for _, e := range pe.callers {
		s, err := e.process.Describe(ctx, process.Consistency(client.Strict))
		if err != nil {
			return err
		}
		if s.Epoch != e.last || len(s.Members) != len(e.members) {
			e.run.broken.addf("%q has epoch %d and %d members, but epoch %d with %d members was seen last",
				e.process.Name(), s.Epoch, len(s.Members), e.last, len(e.members))
		}
	}
	return nil
}

func (pe *processEpochs) report(to *report.Report) { to.Watchers = pe.run.config.Watchers }
