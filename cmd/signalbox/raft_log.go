package main

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
	// unreachable is in the engine's line about a host that cannot be reached, after the host's address
	// and before what differs from time to time.
	unreachable = " became unreachable"
	// repeatEvery is how often it is worth a line that something is still so. Hosts try each other about
	// once a second.
	repeatEvery = 30 * time.Second
	// maxRepeats bounds what is remembered.
	maxRepeats = 1024
	// strangers is in the error about a host of another deployment.
	strangers    = "is of deployment"
	strangerHint = "were all hosts given the same list of hosts, --cluster and --shards?"
)

// engineDetails are parts of lines that the engine writes as warnings or errors, and that say nothing to
// whoever runs a host: what the settings have judged already, and the details of what it says of the
// same host in the line about its being unreachable.
var engineDetails = []string{
	"mutual TLS disabled", "failed to get a connection to", "send batch failed", "connect and process failed",
}

// raftLog lets through, of what the Raft log says, what somebody who runs a host may have to act on, and
// repeats it seldom. The rest, such as every step of every election, is at the debug level.
type raftLog struct {
	slog.Handler
	repeats *repeats
}

func newRaftLog(to *slog.Logger) *slog.Logger {
	return slog.New(raftLog{to.Handler(), &repeats{last: make(map[string]time.Time)}})
}

// Handle implements slog.Handler.
func (h raftLog) Handle(ctx context.Context, r slog.Record) error {
	fromEngine, reason := attributes(&r)
	if fromEngine && isDetail(&r) || r.Level == slog.LevelWarn && !h.repeats.due(keyOf(&r, reason), r.Time) {
		r = r.Clone()
		r.Level = slog.LevelDebug
		if !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	if strings.Contains(reason, strangers) {
		r = r.Clone()
		r.AddAttrs(slog.String("hint", strangerHint))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h raftLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return raftLog{h.Handler.WithAttrs(attrs), h.repeats}
}

// WithGroup implements slog.Handler.
func (h raftLog) WithGroup(name string) slog.Handler {
	return raftLog{h.Handler.WithGroup(name), h.repeats}
}

// attributes tells whether a line is the engine's, and what error it is about.
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

func isDetail(r *slog.Record) bool {
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

// keyOf is what two lines have in common that say the same.
func keyOf(r *slog.Record, reason string) string {
	subject, _, _ := strings.Cut(r.Message, unreachable)
	return subject + "\x00" + reason
}

// repeats is when each thing was said last.
type repeats struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due tells whether it is time to say it.
func (t *repeats) due(key string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[key]; ok && now.Sub(last) < repeatEvery {
		return false
	}
	if len(t.last) >= maxRepeats {
		clear(t.last)
	}
	t.last[key] = now
	return true
}
