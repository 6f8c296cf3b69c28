package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/host"
	"github.com/signalbox/signalbox/server/settings"
)

const (
	// waitingReport is when the log first reports why a host is not ready yet; the wait doubles after every report.
	waitingReport    = 5 * time.Second
	maxWaitingReport = 80 * time.Second
)

// newServe returns the command that runs a host.
func newServe(s cli.Streams) *cobra.Command {
	var flags *settings.Flags
	var inDemo *bool
	var firstPort *int
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run a host",
		Long: `Runs one host: alone, or as a member of a cluster.

Without settings the host serves clients on this machine, stores its data in
./signalbox-data, serves health, metrics and status at http://127.0.0.1:7422, and the
web console and HTTP API at http://127.0.0.1:7424. After a restart on the same directory
the host continues where it was.

To create a cluster, give all initial hosts the same list of names and addresses, and
each host its name. The cluster bootstraps when all initial hosts have started, in any
order; later a majority is enough. For a single host that other machines can reach, run
signalbox init once.

A host that was wiped, or has an older copy of its directory, has lost entries that it
confirmed. The other hosts refuse the host, and it prints the command to run.

Every setting can be a flag (--data-dir), an environment variable (SIGNALBOX_DATA_DIR)
or a line in a YAML file (data-dir) given by --config. Flags override variables, and
variables override the file. docs/settings.md lists all settings.

SIGTERM and SIGINT stop the host gracefully: the host transfers its leaderships, tells
clients to use other hosts, and exits within 5 seconds. A second signal stops the host
at once; nothing that was confirmed is lost.

serve --demo runs a cluster of three hosts in one process, to try things out. Demo data
is in a temporary directory that is removed at the end, and environment variables are
ignored.

Exit codes: 0 stopped as requested; 64 the settings are wrong; 65 the data directory
cannot be used; 69 an address is in use; 75 the disk is full: free space and start the
host again; 1 any other failure.`,
		Example: `  # one host, to try things out
  signalbox serve

  # a cluster of three hosts, to try things out
  signalbox serve --demo

  # one host for clients of other machines
  echo principals: >root-tokens.yaml
  signalbox token generate --name ops | tail -n 1 >>root-tokens.yaml
  signalbox serve --tls-listen 10.0.0.1:7423 --tls-cert box.pem --tls-key box.key \
      --token-file root-tokens.yaml

  # the first of three hosts of one machine; b and c are alike
  export SIGNALBOX_INITIAL_HOSTS=a=127.0.0.1:7431,b=127.0.0.1:7441,c=127.0.0.1:7451
  signalbox serve --name a --data-dir a --listen 127.0.0.1:7430 \
      --admin-listen 127.0.0.1:7432

  # the same from a file
  signalbox serve --config /etc/signalbox/signalbox.yaml

  # is it well?
  curl http://127.0.0.1:7422/health/ready?verbose`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkDemoFlags(c, *inDemo, *firstPort); err != nil {
				return err
			}
			if *inDemo {
				return (&demo{flags: flags, port: *firstPort, Streams: s}).serve()
			}
			return serve(flags, s)
		},
	}
	flags = settings.AddFlags(c.Flags())
	inDemo, firstPort = addDemoFlags(c.Flags())
	c.Annotations = map[string]string{cli.SettingsNote: "Settings, as flags, variables and lines of a file:\n" +
		settings.Names()}
	c.SetUsageFunc(func(c *cobra.Command) error {
		w := c.OutOrStderr()
		fmt.Fprintf(w, "Usage:\n  signalbox serve [flags]\n\nExamples:\n%s\n\n", c.Example)
		settings.WriteUsage(w)
		fmt.Fprint(w, DemoUsage)
		return nil
	})
	return c
}

// serve runs a host until a signal stops it.
func serve(flags *settings.Flags, s cli.Streams) error {
	given, err := settings.Load(settings.Sources{Flags: flags, Environment: s.Environment})
	if err != nil {
		return cli.ExitWith(cli.ExitUsage, err)
	}
	lines := newLogWriter(s.Err, &given)
	defer lines.Close()
	log := newLogger(lines, &given)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)

	prepareProcess(log, given.Memory())
	began := time.Now()
	var h *host.Host
	started := make(chan error, 1)
	go func() {
		var err error
		h, err = startHost(s.Version, given, log, lines)
		started <- err
	}()
	select {
	case err := <-started:
		if err != nil {
			return err
		}
	case got := <-signals:
		// No client has a confirmation yet, so there is nothing to hand over.
		log.Info("stopped during startup", "signal", got.String())
		return nil
	}
	api, err := serveHTTP(h, &given, log)
	if err != nil {
		h.Close()
		return err
	}
	meter := startLoadMeter(h, api)
	interrupted, interrupt := context.WithCancel(context.Background())
	var got os.Signal
	go func() {
		got = <-signals
		interrupt()
	}()
	if awaitReady(interrupted, h, &given, log) {
		logReady(h, &given, log, time.Since(began))
		fmt.Fprintln(s.Out, greeting(&given)+api.greeting())
	}
	<-interrupted.Done()
	log.Info("the host is stopping", "signal", got.String())
	meter.Close()
	api.Close()
	err = stopUnlessInterrupted(signals, h.Stop)
	if err == nil {
		log.Info("the host has stopped")
	}
	return err
}

// awaitReady waits until the host serves, and periodically logs why the host is not ready. awaitReady returns false
// after an interrupt.
func awaitReady(interrupted context.Context, h *host.Host, given *settings.Settings, log *slog.Logger) bool {
	for pause := waitingReport; ; pause = min(2*pause, maxWaitingReport) {
		waiting, cancel := context.WithTimeout(interrupted, pause)
		err := h.WaitReady(waiting)
		cancel()
		switch {
		case err == nil:
			return true
		case interrupted.Err() != nil:
			return false
		}
		if lacks := h.Ready(); lacks != nil {
			log.Info("not ready yet", "why", lacks, "hosts", settings.FormatHosts(given.InitialHosts))
		}
	}
}

func logReady(h *host.Host, given *settings.Settings, log *slog.Logger, after time.Duration) {
	raft, id := settings.Off, h.Identity()
	if given.ServesHosts() {
		raft = given.RaftAdvertise
	}
	log.Info("the host is ready", "client_address", given.Advertise, "raft_address", raft,
		"admin_address", given.AdminListen, "shards", id.Shards, "cluster", id.Cluster,
		"after", after.Round(time.Millisecond).String())
	if h.Open() {
		log.Warn("the cluster has no access rules: every client may do everything; create the first rule with " +
			"signalbox access token create --grant root:/")
	}
}

// greeting returns the line for a user who started the host manually.
func greeting(s *settings.Settings) string {
	var clients []string
	if s.ServesPlain() {
		clients = append(clients, s.Listen)
	}
	if s.ServesTLS() {
		clients = append(clients, s.TLSListen+" (TLS)")
	}
	line := fmt.Sprintf("signalbox is ready: clients connect to %s; data in %s", strings.Join(clients, " and "),
		s.DataDir)
	if !s.ServesAdmin() {
		return line + ". Try next: signalbox --help"
	}
	return line + fmt.Sprintf("; health, metrics and status at http://%s. Try next: curl http://%s/status",
		s.AdminListen, s.AdminListen)
}
