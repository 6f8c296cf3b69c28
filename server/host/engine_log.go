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
	// engineAttribute is on every line of the Raft engine.
	engineAttribute = "engine"
	// unreachable is in the engine's line about an unreachable host, after the host's address and before the part
	// that differs from line to line.
	unreachable = " became unreachable"
	// repeatEvery is how often a warning is repeated while the warning holds. Hosts try each other about once a
	// second.
	repeatEvery = 30 * time.Second
	// maxRepeats bounds the remembered lines.
	maxRepeats = 1024
	// otherDeployment is in the error about a host of a different deployment.
	otherDeployment     = "is of deployment"
	otherDeploymentHint = "were all hosts given the same list of hosts, --cluster-name and --shards?"
)

// engineDetails are in lines that the engine writes as warnings or errors although no operator is concerned. The
// check of the settings covers some of the lines, the line about an unreachable host makes up for details, a worker
// of a busy machine may find several ticks of the clock at once, and elections have few ticks because ticks are long.
var engineDetails = []string{
	"mutual TLS disabled", "failed to get a connection to", "send batch failed", "connect and process failed",
	"LocalTick msgs in one batch", "ElectionRTT is not a magnitude larger",
}

// engineLog passes on the lines of the Raft log that may ask an operator to act, and repeats them seldom. engineLog
// moves the rest, such as every step of every election, to the debug level.
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

// attributes returns whether a line is the engine's, and the error of the line.
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

// repeatKey is equal for two lines with equal reports.
func repeatKey(r *slog.Record, reason string) string {
	subject, _, _ := strings.Cut(r.Message, unreachable)
	return subject + "\x00" + reason
}

// repeats is when every line was written last, by its key.
type repeats struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether the line is to be written, and remembers the time if so.
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
