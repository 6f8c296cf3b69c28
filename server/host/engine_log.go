package host

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// engineAttribute is on every line that the Raft engine writes.
	engineAttribute = "engine"
	// unreachable is in the engine's line about a host that it cannot reach, after the host's address and before what
	// differs from line to line.
	unreachable = " became unreachable"
	// repeatEvery is how often a warning is repeated that still holds. Hosts try each other about once a second.
	repeatEvery = 30 * time.Second
	// maxRepeats bounds the lines that are remembered.
	maxRepeats = 1024
	// otherDeployment is in the error about a host of another deployment.
	otherDeployment     = "is of deployment"
	otherDeploymentHint = "were all hosts given the same list of hosts, --cluster and --shards?"
)

// engineDetails are in lines that the engine writes as warnings or errors, and that do not concern an operator: what
// the check of the settings covers already, details that the line about an unreachable host makes up for, that a
// worker of a busy machine found several ticks of the clock at once, and that elections have few ticks: ticks are long.
var engineDetails = []string{
	"mutual TLS disabled", "failed to get a connection to", "send batch failed", "connect and process failed",
	"LocalTick msgs in one batch", "ElectionRTT is not a magnitude larger",
}

// engineLog passes on those lines of the Raft log that an operator may have to act on, and repeats them seldom. It
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

// attributes returns whether a line is the engine's, and what error it is about.
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
	if r.Level < slog.LevelWarn {
		return true
	}
	for _, part := range engineDetails {
		if strings.Contains(r.Message, part) {
			return true
		}
	}
	return false
}

// repeatKey is equal for two lines that report the same.
func repeatKey(r *slog.Record, reason string) string {
	subject, _, _ := strings.Cut(r.Message, unreachable)
	return subject + "\x00" + reason
}

// repeats is when each line was written last, by its key.
type repeats struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether the line is to be written, and remembers that it is.
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
