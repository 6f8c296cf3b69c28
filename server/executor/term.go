package executor

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// term is the host's leadership of the meta shard in one term, with all work in progress. A round runs on one
// goroutine; reports and effects arrive from others.
type term struct {
	e      *Executor
	number uint64
	// calls counts the goroutines for watches and effects. They end with the term's context.
	calls sync.WaitGroup
	// probed is when the record of a slow host was last proposed again. The goroutine of the rounds has it.
	probed time.Time

	mu      sync.Mutex // guards the fields below
	watches map[shard.HostID]*watch
	acts    map[plan.ID]*act
	holds   map[hold]*act
	taken   map[shard.HostID]taken
	paces   map[shard.HostID]pace
	moves   map[hosts.ShardID]moves
	wakeAt  time.Time // when time alone may change the work to do; zero for never
}

// act is a step's effect or command, running or ended.
type act struct {
	running bool
	ended   time.Time
	warned  time.Time // when a failure was last logged
}

// hold identifies a replica its host is asked to start.
type hold struct {
	shard   hosts.ShardID
	replica uint64
}

func newTerm(e *Executor, number uint64) *term {
	return &term{e: e, number: number, watches: make(map[shard.HostID]*watch), acts: make(map[plan.ID]*act),
		holds: make(map[hold]*act), taken: make(map[shard.HostID]taken),
		paces: make(map[shard.HostID]pace), moves: make(map[hosts.ShardID]moves)}
}

// lasts reports whether the local host still leads the meta shard in the term, as far as the host knows.
func (t *term) lasts(ctx context.Context) bool {
	return ctx.Err() == nil && t.e.config.Meta.Leadership() == shard.Leadership{Leader: t.e.config.Self, Term: t.number}
}

// begin waits until the host has applied everything committed in earlier terms, and its own term has begun.
func (t *term) begin(ctx context.Context) bool {
	for t.lasts(ctx) {
		within, cancel := context.WithTimeout(ctx, proposeWithin)
		err := t.e.config.Meta.Barrier(within)
		cancel()
		if err == nil && t.e.config.Meta.State().Term == t.number {
			return true
		}
		t.e.rest(ctx, busyEvery)
	}
	return false
}

// look returns a view of the current records and reports. ok is false without a term, or if the records show a later
// term.
func (t *term) look() (v governor.View, ok bool) {
	if t == nil {
		return v, false
	}
	s := t.e.config.Meta.State()
	if s.Term != t.number {
		return v, false
	}
	return governor.View{State: s.Records, Plan: s.Plan, Now: s.Now, Seen: t.see(&s, time.Now())}, true
}

// propose proposes a command in the term.
func (t *term) propose(ctx context.Context, c Command) error {
	ctx, cancel := context.WithTimeout(ctx, proposeWithin)
	defer cancel()
	err := t.e.config.Meta.Propose(ctx, c)
	if err != nil && ctx.Err() == nil {
		t.e.config.Log.Debug("a governor command was not executed", "action", uint8(c.Verb), "error", err)
	}
	return err
}

// pause returns how long the executor may rest.
func (t *term) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wakeAt.IsZero() {
		return lookEvery
	}
	return min(lookEvery, max(time.Until(t.wakeAt), 0)+time.Millisecond)
}

// effect asks a host to execute an effect.
func (t *term) effect(ctx context.Context, to shard.HostID, m *protocol.StepExecute) error {
	ctx, cancel := context.WithTimeout(ctx, effectWithin)
	defer cancel()
	m.Term = t.number
	_, err := t.e.ask(ctx, to, m)
	return err
}
