package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/host"
	"github.com/signalbox/signalbox/server/memguard"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/server/transport"
)

const (
	// stopWithin bounds the end of a process with hosts.
	stopWithin = 5 * time.Second
	// fewFiles is a limit of open files that is worth a warning: a busy host needs one for every client.
	fewFiles = 8192
)

// prepareProcess makes the process fit for hosts with so much memory together: its files are private, its limit of open
// files is raised, and the runtime collects garbage in time. A limit that the environment gives the runtime stays.
func prepareProcess(log *slog.Logger, memory memguard.Budget) {
	cli.KeepPrivate()
	if os.Getenv("GOMEMLIMIT") == "" && memory != 0 {
		debug.SetMemoryLimit(int64(memory.Heap()))
	}
	limit, err := transport.RaiseFileLimit()
	if err != nil {
		log.Warn("the limit of open files could not be raised", "limit", limit, "error", err)
	}
	if limit < fewFiles {
		log.Warn("the limit of open files is low, and every client connection needs one; "+
			"raise it with ulimit -n, or LimitNOFILE= in a unit of systemd", "limit", limit)
	}
}

// startHost starts a host whose failures end the process. The error has its exit code.
func startHost(version string, s settings.Settings, log *slog.Logger, lines *host.LogWriter) (*host.Host, error) {
	h, err := host.Start(host.Options{
		Settings: s, Version: version, Log: log, LogLinesDropped: lines.Dropped, Halt: haltProcess,
	})
	return h, cli.ExitWith(hostCodes[host.KindOf(err)], err)
}

// hostCodes are the exit codes for the errors of a start.
var hostCodes = map[host.Kind]int{
	host.KindSettings: cli.ExitUsage,
	host.KindData:     cli.ExitData,
	host.KindAddress:  cli.ExitUnavailable,
	host.KindRoom:     cli.ExitAgain,
	host.KindOther:    cli.ExitFailed,
}

// haltProcess ends the process at once: its host must neither serve nor apply anything any more.
func haltProcess(err error) {
	fmt.Fprintf(os.Stderr, "signalbox: this host cannot go on and stops: %v\n", err)
	if host.KindOf(err) == host.KindRoom {
		os.Exit(cli.ExitAgain)
	}
	os.Exit(cli.ExitData)
}

// stopUnlessInterrupted stops a host. A second signal a moment after the first, or the end of stopWithin, leaves the
// rest to the end of the process.
func stopUnlessInterrupted(signals <-chan os.Signal, stop func(context.Context) error) error {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- stop(ctx) }()
	for {
		select {
		case err := <-stopped:
			return err
		case again := <-signals:
			if time.Since(asked) > cli.SameSignal {
				return cli.Errorf(cli.SignalCode(again), "stopped at once, by a second signal")
			}
		}
	}
}

// newLogger returns the logger by the settings, and makes the logger the default: packages without a logger of their
// own use the default.
func newLogger(w io.Writer, s *settings.Settings) *slog.Logger {
	logger := slog.New(newLogHandler(w, s))
	if s.Name != "" {
		logger = logger.With("host", s.Name)
	}
	slog.SetDefault(logger)
	return logger
}

// newLogWriter returns the writer of the log, which reports in the format that the settings ask for.
func newLogWriter(to io.Writer, s *settings.Settings) *host.LogWriter {
	return host.NewLogWriter(to, func(w io.Writer) slog.Handler { return newLogHandler(w, s) })
}

func newLogHandler(w io.Writer, s *settings.Settings) slog.Handler {
	options := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == settings.FormatJSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}
