package host

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// engineAttribute marks every log line from the Raft engine.
	engineAttribute = "engine"
	// unreachable appears in the engine's line about an unreachable host, after the host's address and before the
	// variable part.
	unreachable = " became unreachable"
	// repeatEvery is the interval at which a persistent warning is repeated. Hosts try to reach each other about once
	// a second.
	repeatEvery = 30 * time.Second
	// maxRepeats is the maximum number of remembered lines.
	maxRepeats = 1024
	// otherDeployment appears in the error about a host from a different deployment.
	otherDeployment     = "different deployment: "
	otherDeploymentHint = "were all hosts given the same list of hosts, --cluster-name and --shards?"
)

// engineDetails appear in lines the engine logs as warnings or errors although operators need not act. The settings
// check covers some of the lines; the line about an unreachable host replaces details; a worker on a busy machine may
// see several clock ticks at once; and elections have few ticks because ticks are long.
var engineDetails = []string{
	"mutual TLS disabled", "failed to get a connection to", "send batch failed", "connect and process failed",
	"LocalTick msgs in one batch", "ElectionRTT is not a magnitude larger",
}

// engineLog passes on the Raft log's lines that may require an operator to act, and limits their repetition.
// engineLog moves all other lines, such as every election step, to the debug level.
type engineLog struct {
	slog.Handler
	repeats *repeats
}

func newEngineLog(to *slog.Logger) *slog.Logger {
	return slog.New(engineLog{to.Handler(), &repeats{last: make(map[string]time.Time)}})
}

// Handle implements slog.Handler.
func (l engineLog) Handle(ctx context.Context, r slog.Record) error {
	fromEngine, reason := attributes(&r)
	if fromEngine && isEngineDetail(&r) || r.Level == slog.LevelWarn && !l.repeats.due(repeatKey(&r, reason), r.Time) {
		r = r.Clone()
		r.Level = slog.LevelDebug
		if !l.Enabled(ctx, r.Level) {
			return nil
		}
	}
	if strings.Contains(reason, otherDeployment) {
		r = r.Clone()
		r.AddAttrs(slog.String("hint", otherDeploymentHint))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l engineLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return engineLog{l.Handler.WithAttrs(attrs), l.repeats}
}

// WithGroup implements slog.Handler.
func (l engineLog) WithGroup(name string) slog.Handler {
	return engineLog{l.Handler.WithGroup(name), l.repeats}
}

// attributes reports whether a line is from the engine, and returns the line's error.
func attributes(r *slog.Record) (fromEngine bool, reason string) {
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case engineAttribute:
			fromEngine = true
		case "error":
			reason = a.Value.String()
		}
		return true
	})
	return fromEngine, reason
}

func isEngineDetail(r *slog.Record) bool {
	is := func(part string) bool { return strings.Contains(r.Message, part) }
	return r.Level < slog.LevelWarn || slices.ContainsFunc(engineDetails, is)
}

// repeatKey returns the same key for lines that report the same condition.
func repeatKey(r *slog.Record, reason string) string {
	subject, _, _ := strings.Cut(r.Message, unreachable)
	return subject + "\x00" + reason
}

// repeats maps every line's key to the time when the line was last written.
type repeats struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether the line should be written. If so, due remembers the time.
func (r *repeats) due(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.last[key]; ok && now.Sub(last) < repeatEvery {
		return false
	}
	if len(r.last) >= maxRepeats {
		clear(r.last)
	}
	r.last[key] = now
	return true
}
