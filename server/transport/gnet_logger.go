//go:build linux || darwin || freebsd

package transport

import (
	"context"
	"fmt"
	"log/slog"
)

// gnetLogger adapts a slog logger to gnet. gnet's informational lines become debug lines, and a fatal line is logged
// as an error, without an exit.
type gnetLogger struct {
	logger *slog.Logger
}

func (g gnetLogger) Debugf(format string, args ...any) { g.log(slog.LevelDebug, format, args) }
func (g gnetLogger) Infof(format string, args ...any)  { g.log(slog.LevelDebug, format, args) }
func (g gnetLogger) Warnf(format string, args ...any)  { g.log(slog.LevelWarn, format, args) }
func (g gnetLogger) Errorf(format string, args ...any) { g.log(slog.LevelError, format, args) }
func (g gnetLogger) Fatalf(format string, args ...any) { g.log(slog.LevelError, format, args) }

func (g gnetLogger) log(level slog.Level, format string, args []any) {
	if g.logger.Enabled(context.Background(), level) {
		g.logger.Log(context.Background(), level, "gnet: "+fmt.Sprintf(format, args...))
	}
}
