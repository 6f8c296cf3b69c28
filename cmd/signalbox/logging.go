package main

import (
	"io"
	"log/slog"

	"github.com/signalbox/signalbox/server/settings"
)

// newLogger returns the logger that the settings ask for, and makes it the default one: packages that are
// given none use that.
func newLogger(w io.Writer, s *settings.Settings) *slog.Logger {
	options := &slog.HandlerOptions{Level: s.LogLevel}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if s.LogFormat == settings.FormatJSON {
		handler = slog.NewJSONHandler(w, options)
	}
	logger := slog.New(handler)
	if s.Name != "" {
		logger = logger.With("host", s.Name)
	}
	slog.SetDefault(logger)
	return logger
}
