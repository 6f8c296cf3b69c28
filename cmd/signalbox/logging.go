package main

import (
	"io"
	"log/slog"

	"github.com/signalbox/signalbox/server/settings"
)

// newLogger returns the logger that the settings ask for, and makes it the default one: packages that are
// given none use that.
func newLogger(w io.Writer, s *settings.Settings) *slog.Logger {
	logger := slog.New(newLogHandler(w, s))
	if s.Name != "" {
		logger = logger.With("host", s.Name)
	}
	slog.SetDefault(logger)
	return logger
}

func newLogHandler(w io.Writer, s *settings.Settings) slog.Handler {
	options := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == settings.FormatJSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}
