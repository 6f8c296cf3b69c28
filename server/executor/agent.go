package executor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Agent executes the governor's requests on a host. Safe for concurrent use.
type Agent struct {
	host        shard.HostID
	incarnation hosts.Incarnation
	replicas    Replicas
	full        func() bool // the disk of the host is nearly full
	speed       func() governor.Speed

	mu sync.Mutex // guards the fields below
	// term is the highest meta shard term known to the host.
	term uint64
	// fresh is the time since which meta shard barriers succeed. begun is the start time of the last successful
	// barrier.
	fresh, begun time.Time
	tracks       map[hosts.ShardID]*track
	standing     Standing
	asked        time.Time // when a governor last asked, or when the agent was created
}

// Standing is the host's state on record, as the governor reported it. A host whose meta shard replica was removed
// has no other way to learn its state.
type Standing struct {
	Term            uint64 // the governor's term, 0 until a governor has asked
	Target, Current protocol.HostState
	// TargetEpoch and CurrentEpoch are the epochs of the host's target and current state.
	TargetEpoch, CurrentEpoch uint64
}

// Standing returns the standing from the last report request.
func (a *Agent) Standing() Standing {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.standing
}

// Unasked returns the time since a governor last asked for a report. Governors from old terms do not count.
func (a *Agent) Unasked() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Since(a.asked)
}

// NewAgent returns the agent of a host. Full reports whether the disk of the host is nearly full, speed how fast the
// host is.
func NewAgent(host shard.HostID, incarnation hosts.Incarnation, replicas Replicas, full func() bool,
	speed func() governor.Speed) *Agent {
	return &Agent{host: host, incarnation: incarnation, replicas: replicas, full: full, speed: speed,
		tracks: make(map[hosts.ShardID]*track), asked: time.Now()}
}

// Run samples the progress of the shards the host leads, until the context ends. Samples show how far followers lag,
// so a host without followers takes few.
func (a *Agent) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-timer.C:
			a.sample(now)
			if a.alone() {
				timer.Reset(lookEvery)
			} else {
				timer.Reset(sampleEvery)
			}
		}
	}
}

// alone reports whether the host leads every shard of which it has a replica, and no other host has a replica of
// these shards.
func (a *Agent) alone() bool {
	return !slices.ContainsFunc(a.replicas.Held(), func(h Held) bool {
		return h.Log.Leadership().Leader != a.host || len(h.Log.Progress()) > 0
	})
}

// Handles reports whether Answer handles a request kind between hosts.
func (*Agent) Handles(kind protocol.Kind) bool {
	return kind == protocol.KindShardReport || kind == protocol.KindStepExecute || kind == protocol.KindPing
}

// Answer executes a governor's request, given as a frame payload. Answer returns the answer's payload. Safe for
// concurrent use.
func (a *Agent) Answer(ctx context.Context, request []byte) []byte {
	r, err := peerrpc.Read(request)
	if err != nil {
		return encodeFailure(protocol.KindStepExecute, fmt.Errorf("%w: %w", errRefused, err))
	}
	switch r.Kind {
	case protocol.KindPing: // another host measures its round trips
		return peerrpc.Answer(&protocol.Pong{})
	case protocol.KindShardReport:
		if err = a.admit(r.ShardReport.Term); err == nil {
			a.learn(&r.ShardReport)
			return peerrpc.Answer(a.report(ctx))
		}
	case protocol.KindStepExecute:
		if err = a.admit(r.StepExecute.Term); err == nil {
			var answer *protocol.StepExecuteAnswer
			if answer, err = a.perform(ctx, &r.StepExecute); err == nil {
				return peerrpc.Answer(answer)
			}
		}
	default:
		return encodeFailure(protocol.KindStepExecute, fmt.Errorf("%w: unknown request kind %v", errRefused, r.Kind))
	}
	return encodeFailure(r.Kind, err)
}

// learn records the host's standing from a governor's request.
func (a *Agent) learn(m *protocol.ShardReport) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = time.Now()
	if m.Term >= a.standing.Term {
		a.standing = Standing{Term: m.Term, Target: m.Target, Current: m.Current, TargetEpoch: m.TargetEpoch,
			CurrentEpoch: m.CurrentEpoch}
	}
}

// admit refuses a governor if the host knows a later term.
func (a *Agent) admit(term uint64) error {
	heard := term
	if on := a.held(hosts.Meta); on != nil {
		heard = max(heard, on.Log.Leadership().Term)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.term = max(a.term, heard); term < a.term {
		return fmt.Errorf("%w: term %d, but host %d has seen term %d", errOldTerm, term, a.host, a.term)
	}
	return nil
}

// held returns a shard's running replica with its log, or nil if no replica runs here.
func (a *Agent) held(id hosts.ShardID) *Held {
	for _, h := range a.replicas.Held() {
		if h.Shard == id {
			return &h
		}
	}
	return nil
}
