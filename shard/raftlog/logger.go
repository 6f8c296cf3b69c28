package raftlog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/lni/dragonboat/v4/logger"
)

// The engine has one logger per process, set at most once. The engine's logger writes to the logger in engineLog.
var (
	engineLog      atomic.Pointer[slog.Logger]
	engineLogOnce  sync.Once
	enginePanicked atomic.Pointer[string]
)

// routeEngineLog sends the engine's messages to a logger. A logger the program has set in the engine before stays.
func routeEngineLog(to *slog.Logger) {
	engineLog.Store(to)
	engineLogOnce.Do(func() {
		defer func() { _ = recover() }() // the engine panics if its logger is set again
		logger.SetLoggerFactory(func(name string) logger.ILogger { return &engineLogger{part: name} })
	})
}

// lastEnginePanic is the text from the engine's last panic, for errors without a text.
func lastEnginePanic() string {
	if text := enginePanicked.Load(); text != nil {
		return *text
	}
	return silentPanic
}

// silentPanic is used for an engine panic without a text. While a host is being opened, such a panic means that an
// engine file is damaged.
const silentPanic = "the engine gave up without saying why"

// engineLogger is the engine's logger for an engine package.
//
// The engine logs every election step as a warning and every compaction as information, and warns about repeated
// removal proposals, although every removal is repeated (Log.outlast). Operators would have to learn to ignore these
// messages, so all go one level down.
type engineLogger struct {
	part string
}

var _ logger.ILogger = (*engineLogger)(nil)

// SetLevel is ignored: the slog.Handler decides.
func (*engineLogger) SetLevel(logger.LogLevel) {}

func (l *engineLogger) Debugf(format string, args ...any) {
	l.log(slog.LevelDebug, format, args)
}

func (l *engineLogger) Infof(format string, args ...any) {
	l.log(slog.LevelDebug, format, args)
}

func (l *engineLogger) Warningf(format string, args ...any) {
	level := slog.LevelWarn
	if l.part == "raft" || l.part == "rsm" {
		level = slog.LevelInfo
	}
	l.log(level, format, args)
}

func (l *engineLogger) Errorf(format string, args ...any) {
	l.log(slog.LevelError, format, args)
}

// Panicf logs and panics, because the engine relies on the panic.
func (l *engineLogger) Panicf(format string, args ...any) {
	l.log(slog.LevelError, format, args)
	text := l.part + ": " + fmt.Sprintf(format, args...)
	enginePanicked.Store(&text)
	panic(text)
}

func (l *engineLogger) log(level slog.Level, format string, args []any) {
	to := engineLog.Load()
	if !to.Enabled(context.Background(), level) {
		return
	}
	to.Log(context.Background(), level, fmt.Sprintf(format, args...), "engine", l.part)
}
