package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/host"
	"github.com/signalbox/signalbox/server/memguard"
	"github.com/signalbox/signalbox/server/settings"
)

const (
	// demoPort is the first host's first port; every further host's ports are 10 higher.
	demoPort     = 7420
	demoPortStep = 10
	demoAddress  = "127.0.0.1"
)

// demoPorts are a host's ports, relative to its first: for clients, for other hosts, for the admin pages, and for the
// console. So the first host has the default ports.
var demoPorts = [...]int{0, 1, 2, 4}

// demoNames are the demo hosts.
var demoNames = []string{"a", "b", "c"}

// demoFlags are the settings that can be given for a demo.
var demoFlags = map[string]bool{"demo": true, "demo-port": true, "shards": true, "log-level": true, "log-format": true,
	"pprof": true}

// demo is a cluster in one process, with temporary data.
type demo struct {
	flags *settings.Flags
	port  int
	cli.Streams
	dir   string
	hosts []settings.Settings
	lines *host.LogWriter
	log   *mutableWriter // writes to lines

	running []*host.Host // hosts after their start
	apis    []*httpAPI   // for running
	meters  []*loadMeter // for running
}

// addDemoFlags adds the flags for serve --demo.
func addDemoFlags(set *pflag.FlagSet) (on *bool, port *int) {
	on = set.Bool("demo", false, "Run three hosts in this process. Their data is removed at the end")
	port = set.Int("demo-port", demoPort, "First port of --demo. Each host uses four ports, from this port, 10 "+
		"higher and 20 higher. 0 uses free ports")
	return on, port
}

// DemoUsage is the demo flags' section in the help of serve.
const DemoUsage = `
Demo cluster:
  --demo
        Run three hosts in this process. Their data is removed at the end. May be combined with
        --shards, --pprof and the log settings only
  --demo-port NUMBER
        First port. Each host uses four ports, from this port, 10 higher and 20 higher. 0 uses free
        ports (default 7420)
`

// checkDemoFlags refuses settings a demo sets itself.
func checkDemoFlags(c *cobra.Command, on bool, port int) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case !on && f.Name == "demo-port":
			err = errors.New("--demo-port requires --demo")
		case on && !demoFlags[f.Name] && err == nil:
			err = fmt.Errorf("--%s cannot be combined with --demo, which configures its three hosts; use "+
				"--demo-port to choose ports", f.Name)
		}
	})
	last := port + (len(demoNames)-1)*demoPortStep + demoPorts[len(demoPorts)-1]
	if err == nil && on && port != 0 && (port < 1 || last > 65535) {
		err = fmt.Errorf("--demo-port %d is out of range; give 1 to %d, or 0 for free ports", port,
			65535-(last-port))
	}
	if err == nil {
		return nil
	}
	return cli.Errorf(cli.ExitUsage, "%w; see signalbox help serve", err)
}

// serve runs the hosts until a signal stops them.
func (d *demo) serve() (err error) {
	d.lines = newLogWriter(d.Err, new(settings.Settings))
	defer d.lines.Close()
	d.log = &mutableWriter{to: d.lines}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	if d.dir, err = os.MkdirTemp("", "signalbox-demo-"); err != nil {
		return fmt.Errorf("cannot create a directory for demo data: %w", err)
	}
	defer func() {
		if failed := os.RemoveAll(d.dir); failed != nil && err == nil {
			err = fmt.Errorf("cannot remove the demo data: %w", failed)
		}
	}()
	if err := d.plan(); err != nil {
		return err
	}
	if cli.IsTerminal(d.Err) {
		fmt.Fprintf(d.Err, "signalbox demo: starting %d hosts; that takes some seconds\n", len(d.hosts))
	}
	if err = d.start(); err == nil {
		interrupted, interrupt := context.WithCancel(context.Background())
		go func() {
			<-signals
			interrupt()
		}()
		if d.awaitReady(interrupted) {
			fmt.Fprint(d.Out, d.greeting())
		}
		<-interrupted.Done()
	}
	if stopped := stopUnlessInterrupted(signals, d.stop); err == nil {
		err = stopped
	}
	return err
}

// plan creates the hosts' settings.
func (d *demo) plan() error {
	ports, err := d.ports()
	if err != nil {
		return err
	}
	at := func(host, which int) string {
		return net.JoinHostPort(demoAddress, strconv.Itoa(ports[len(demoPorts)*host+which]))
	}
	var list []settings.InitialHost
	for i, name := range demoNames {
		list = append(list, settings.InitialHost{Name: name, Raft: at(i, 1)})
	}
	secret := filepath.Join(d.dir, "raft-secret")
	if err := os.WriteFile(secret, []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("cannot write the demo secret: %w", err)
	}
	share := settings.Size(memguard.Available() / uint64(len(demoNames)))
	for i, name := range demoNames {
		given, err := settings.Load(settings.Sources{Flags: d.flags, Environment: []string{
			"SIGNALBOX_NAME=" + name, "SIGNALBOX_DATA_DIR=" + filepath.Join(d.dir, name),
			"SIGNALBOX_INITIAL_HOSTS=" + settings.FormatHosts(list), "SIGNALBOX_RAFT_SECRET_FILE=" + secret,
			"SIGNALBOX_LISTEN=" + at(i, 0), "SIGNALBOX_ADMIN_LISTEN=" + at(i, 2), "SIGNALBOX_HTTP_LISTEN=" + at(i, 3),
			"SIGNALBOX_CONSOLE_ANONYMOUS_WRITES=true", "SIGNALBOX_LOG_LEVEL=warn",
			"SIGNALBOX_MEMORY_LIMIT=" + share.String(),
		}})
		if err != nil {
			return cli.ExitWith(cli.ExitUsage, err)
		}
		d.hosts = append(d.hosts, given)
	}
	return nil
}

// ports returns every host's ports, in the order of demoPorts.
func (d *demo) ports() ([]int, error) {
	var ports []int
	for host := range demoNames {
		for _, offset := range demoPorts {
			if d.port != 0 {
				ports = append(ports, d.port+host*demoPortStep+offset)
				continue
			}
			l, err := net.Listen("tcp", net.JoinHostPort(demoAddress, "0"))
			if err != nil {
				return nil, cli.Errorf(cli.ExitUnavailable, "cannot find a free port: %w", err)
			}
			defer l.Close() // after the last port is found, so that the ports differ
			ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		}
	}
	return ports, nil
}

// start starts all hosts concurrently, because a host may need the other hosts to become ready.
func (d *demo) start() error {
	var all sync.WaitGroup
	started, failed := make([]*host.Host, len(d.hosts)), make([]error, len(d.hosts))
	apis := make([]*httpAPI, len(d.hosts))
	for i := range d.hosts {
		log := newLogger(d.log, &d.hosts[i])
		if i == 0 {
			prepareProcess(log, memguard.Budget(memguard.Available()))
		}
		all.Go(func() {
			if started[i], failed[i] = startHost(d.Version, d.hosts[i], log, d.lines); failed[i] == nil {
				apis[i], failed[i] = serveHTTP(started[i], &d.hosts[i], log)
			}
		})
	}
	all.Wait()
	var problems []error
	code := 0
	for i, err := range failed {
		if started[i] != nil {
			d.running, d.apis = append(d.running, started[i]), append(d.apis, apis[i])
			d.meters = append(d.meters, startLoadMeter(started[i], apis[i]))
		}
		if err == nil {
			continue
		}
		problems = append(problems, fmt.Errorf("host %s: %w", d.hosts[i].Name, err))
		code = max(code, cli.ExitCode(err))
	}
	if len(problems) == 0 {
		return nil
	}
	return cli.Errorf(code, "%w\nUse --demo-port 0 for free ports, or --demo-port N for ports from N on",
		errors.Join(problems...))
}

// awaitReady waits until all hosts are ready. awaitReady returns false after an interrupt.
func (d *demo) awaitReady(interrupted context.Context) bool {
	return !slices.ContainsFunc(d.running, func(h *host.Host) bool { return h.WaitReady(interrupted) != nil })
}

// stop closes all started hosts concurrently. Nothing is handed over, because all hosts end. Log lines about ending
// peers are suppressed.
func (d *demo) stop(ctx context.Context) error {
	d.log.mute()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		var all sync.WaitGroup
		for i, h := range d.running {
			all.Go(func() {
				d.meters[i].Close()
				d.apis[i].Close()
				h.Close()
			})
		}
		all.Wait()
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return host.ErrStopTimeout
	}
}

// mutableWriter is the log of all demo hosts, until it is muted.
type mutableWriter struct {
	mu    sync.Mutex
	to    io.Writer
	muted bool
}

// Write implements io.Writer.
func (w *mutableWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.muted {
		return len(line), nil
	}
	return w.to.Write(line)
}

func (w *mutableWriter) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muted = true
}

// greeting describes where the hosts are, and suggests commands.
func (d *demo) greeting() string {
	var b strings.Builder
	var clients, admin []string
	fmt.Fprintf(&b, "signalbox demo: a cluster of %d hosts is ready, in this process\n\n", len(d.hosts))
	fmt.Fprintf(&b, "  HOST  CLIENTS           CONSOLE                  HEALTH, METRICS AND STATUS\n")
	for i := range d.hosts {
		s := &d.hosts[i]
		clients, admin = append(clients, s.Listen), append(admin, s.AdminListen)
		fmt.Fprintf(&b, "  %-4s  %-16s  http://%-16s  http://%s\n", s.Name, s.Listen, s.HTTPListen, s.AdminListen)
	}
	fmt.Fprintf(&b, "\nThe data is in %s until the demo ends. Press Ctrl-C to end it. In another terminal:\n\n", d.dir)
	fmt.Fprintf(&b, "  export SIGNALBOX_ENDPOINTS=%s\n", strings.Join(clients, ","))
	fmt.Fprintf(&b, "  signalbox status\n")
	fmt.Fprintf(&b, "  signalbox lock /demo job --create-node -- sleep 10 "+
		"    # in two terminals: one waits for the other\n")
	fmt.Fprintf(&b, "  signalbox top --admin-endpoints %s\n", strings.Join(admin, ","))
	return b.String()
}
