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
	// waitingReport is when the log first says why a host is not ready yet; each time it waits twice as
	// long for the next.
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
		Long: `Runs one host: by itself, or as one of a cluster.

Without any settings it serves clients of this machine, keeps its data in
./signalbox-data, shows health, metrics and status at http://127.0.0.1:7422, and
serves a console and the HTTP API at http://127.0.0.1:7424.
Started again on the same directory it goes on where it was.

A cluster is made of hosts that are all given the same list of names and
addresses, and a name each. It is born when all of them have been started, in any
order; later a majority is enough. A single host that other machines can reach is
made by signalbox init, once.

A host that was wiped, or whose directory is an older copy, has forgotten what it
confirmed. The others do not let it in, and it says what to type.

Every setting can be said as a flag (--data-dir), as a variable of the
environment (SIGNALBOX_DATA_DIR) and as a line of a YAML file (data-dir), which
--config names. The flag goes before the variable, the variable before the file.
docs/settings.md describes all of them.

SIGTERM and SIGINT stop the host in peace: it hands over what it leads, tells its
clients to go elsewhere, and is gone within 5 seconds. A second one, a moment
later, stops it at once; nothing that was confirmed is lost by that.

serve --demo runs three hosts of one cluster in one process, to try things out. Its
data is in a temporary folder that goes with it, and it heeds no variables.

Exit codes: 0 stopped as asked; 64 the settings are wrong; 65 the data directory
cannot be used; 69 an address cannot be listened on; 75 the disk has no room: start
the host again, it goes on once there is some; 1 anything else.`,
		Example: `  # one host, to try things out
  signalbox serve

  # a cluster of three hosts, to try things out
  signalbox serve --demo

  # one host for clients of other machines
  signalbox token generate --name app --role write --path /
  signalbox serve --tls-listen 10.0.0.1:7423 --tls-cert box.pem --tls-key box.key \
      --token-file tokens.yaml

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
		log.Info("stopped before the host had started", "signal", got.String())
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
	log.Info("the host stops", "signal", got.String())
	meter.Close()
	api.Close()
	err = stopUnlessInterrupted(signals, h.Stop)
	if err == nil {
		log.Info("the host has stopped")
	}
	return err
}

// awaitReady waits until the host serves, and logs from time to time why the host is not ready. The result is false
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
}

// greeting is the line for a user who started the host by hand.
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
