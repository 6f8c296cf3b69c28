package raftlogtest

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
)

// damages are the errors with which processes have ended. It handles engine logs, which have one logger for all hosts:
// an engine goroutine about to panic with such an error ends instead.
type damages struct {
	mu    sync.Mutex
	texts []string
}

var _ slog.Handler = (*damages)(nil)

func (d *damages) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.texts = append(d.texts, err.Error())
}

// Enabled implements slog.Handler.
func (*damages) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle implements slog.Handler.
func (d *damages) Handle(_ context.Context, r slog.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, text := range d.texts {
		if strings.HasSuffix(text, r.Message) {
			runtime.Goexit()
		}
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (d *damages) WithAttrs([]slog.Attr) slog.Handler { return d }

// WithGroup implements slog.Handler.
func (d *damages) WithGroup(string) slog.Handler { return d }
