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
	// stopWithin is the time limit for stopping a process with hosts.
	stopWithin = 5 * time.Second
	// fewFiles is the file descriptor limit below which a warning is logged: a busy host needs one descriptor per
	// client.
	fewFiles = 8192
)

// prepareProcess prepares the process for hosts with the given total memory: its files are private, its file
// descriptor limit is raised, and the runtime collects garbage in time. A runtime memory limit from the environment
// is kept.
func prepareProcess(log *slog.Logger, memory memguard.Budget) {
	cli.KeepPrivate()
	if os.Getenv("GOMEMLIMIT") == "" && memory != 0 {
		debug.SetMemoryLimit(int64(memory.Heap()))
	}
	limit, err := transport.RaiseFileLimit()
	if err != nil {
		log.Warn("cannot raise the open file limit", "limit", limit, "error", err)
	}
	if limit < fewFiles {
		log.Warn("the open file limit is low, and every client connection needs an open file; raise the limit "+
			"with ulimit -n, or LimitNOFILE= in a systemd unit", "limit", limit)
	}
}

// startHost starts a host whose failures end the process. The error has an exit code.
func startHost(version string, s settings.Settings, log *slog.Logger, lines *host.LogWriter) (*host.Host, error) {
	h, err := host.Start(host.Options{
		Settings: s, Version: version, Log: log, LogLinesDropped: lines.Dropped, Halt: haltProcess,
	})
	return h, cli.ExitWith(hostCodes[host.KindOf(err)], err)
}

// hostCodes maps start errors to exit codes.
var hostCodes = map[host.Kind]int{
	host.KindSettings: cli.ExitUsage,
	host.KindData:     cli.ExitData,
	host.KindAddress:  cli.ExitUnavailable,
	host.KindRoom:     cli.ExitAgain,
	host.KindOther:    cli.ExitFailed,
}

// haltProcess ends the process immediately: its host must no longer serve or apply anything.
func haltProcess(err error) {
	fmt.Fprintf(os.Stderr, "signalbox: the host stops after a fatal error: %v\n", err)
	if host.KindOf(err) == host.KindRoom {
		os.Exit(cli.ExitAgain)
	}
	os.Exit(cli.ExitData)
}

// stopUnlessInterrupted stops a host, for at most stopWithin. A second signal ends the stop early, unless the signal
// arrives so soon that it counts as the first signal repeated. If the stop was ended early, the process exits without
// it.
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
				return cli.Errorf(cli.SignalCode(again), "stopped immediately by a second signal")
			}
		}
	}
}

// newLogger returns the logger defined by the settings, and makes it the default for packages without their own
// logger.
func newLogger(w io.Writer, s *settings.Settings) *slog.Logger {
	logger := slog.New(newLogHandler(w, s))
	if s.Name != "" {
		logger = logger.With("host", s.Name)
	}
	slog.SetDefault(logger)
	return logger
}

// newLogWriter returns the log writer, which reports in the format defined by the settings.
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
