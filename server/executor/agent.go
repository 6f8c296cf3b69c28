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
	"github.com/signalbox/signalbox/shard/hosts"
)

// Agent is the work of a host for the governing host. Any goroutine may call its methods.
type Agent struct {
	host        shard.HostID
	incarnation hosts.Incarnation
	replicas    Replicas
	full        func() bool // the disk of the host is nearly full

	mu sync.Mutex // guards the fields below
	// term is the highest term of the meta shard that this host has heard of.
	term uint64
	// fresh is since when barriers on the meta shard succeed, begun is when the last successful barrier was begun.
	fresh, begun time.Time
	tracks       map[hosts.ShardID]*track
	standing     Standing
	asked        time.Time // when a governor asked last, or when the agent was made
}

// Standing is the governor's view of a host: the states of the host on record. A host whose replica of the meta shard
// was removed has no other way to see its states.
type Standing struct {
	Term            uint64 // of the governor, 0 until a governor has asked
	Target, Current protocol.HostState
	// TargetEpoch and CurrentEpoch are the epochs of the two states.
	TargetEpoch, CurrentEpoch uint64
}

// Standing returns the standing from the last governor that asked for a report.
func (a *Agent) Standing() Standing {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.standing
}

// Unasked is how long ago a governor last asked for a report. Governors of old terms do not count.
func (a *Agent) Unasked() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Since(a.asked)
}

// NewAgent returns the agent of a host. Full reports whether the disk of the host is nearly full.
func NewAgent(host shard.HostID, incarnation hosts.Incarnation, replicas Replicas, full func() bool) *Agent {
	return &Agent{host: host, incarnation: incarnation, replicas: replicas, full: full,
		tracks: make(map[hosts.ShardID]*track), asked: time.Now()}
}

// Run notes the progress of the shards that the host leads, until the context ends. Notes show how far followers lag,
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

// alone reports whether the host leads all shards of its replicas, and no other host has a replica of them.
func (a *Agent) alone() bool {
	return !slices.ContainsFunc(a.replicas.Held(), func(h Held) bool {
		return h.Log.Leadership().Leader != a.host || len(h.Log.Progress()) > 0
	})
}

// Handles says whether a request between hosts is for Answer.
func (*Agent) Handles(kind protocol.Kind) bool {
	return kind == protocol.KindShardReport || kind == protocol.KindStepExecute
}

// Answer executes a request of the governor: the payload of a frame. It returns the payload of the answer. Several
// requests may be executed at once.
func (a *Agent) Answer(ctx context.Context, request []byte) []byte {
	r, err := peerrpc.Read(request)
	if err != nil {
		return encodeFailure(protocol.KindStepExecute, fmt.Errorf("%w: %w", errRefused, err))
	}
	switch r.Kind {
	case protocol.KindShardReport:
		if err = a.admit(r.ShardReport.Term); err == nil {
			a.learn(&r.ShardReport)
			return peerrpc.Answer(a.report(ctx))
		}
	case protocol.KindStepExecute:
		if err = a.admit(r.StepExecute.Term); err == nil {
			err = a.perform(ctx, &r.StepExecute)
		}
		if err == nil {
			return peerrpc.Answer(&protocol.StepExecuteAnswer{})
		}
	default:
		return encodeFailure(protocol.KindStepExecute, fmt.Errorf("%w: a request of the kind %v", errRefused, r.Kind))
	}
	return encodeFailure(r.Kind, err)
}

// learn notes the standing of this host from a governor's request.
func (a *Agent) learn(m *protocol.ShardReport) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = time.Now()
	if m.Term >= a.standing.Term {
		a.standing = Standing{Term: m.Term, Target: m.Target, Current: m.Current, TargetEpoch: m.TargetEpoch,
			CurrentEpoch: m.CurrentEpoch}
	}
}

// admit refuses a governor whose term is over, by everything that this host has heard.
func (a *Agent) admit(term uint64) error {
	heard := term
	if on := a.held(hosts.Meta); on != nil {
		heard = max(heard, on.Log.Leadership().Term)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.term = max(a.term, heard); term < a.term {
		return fmt.Errorf("%w: %d, and host %d has heard of %d", errOldTerm, term, a.host, a.term)
	}
	return nil
}

// held returns the running replica of a shard with its log, or nil if no replica runs here.
func (a *Agent) held(id hosts.ShardID) *Held {
	for _, h := range a.replicas.Held() {
		if h.Shard == id {
			return &h
		}
	}
	return nil
}
