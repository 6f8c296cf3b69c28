// Command signalbox-ydb lets programs with YDB's SDKs use a Signalbox cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/internal/bytesize"
	"github.com/signalbox/signalbox/internal/timerslack"
)

// version is set by releases with -ldflags "-X main.version=v1.2.3".
var version = "devel"

// The exit codes, as in sysexits.h.
const (
	exitUsage  = 64
	exitFailed = 69
)

type options struct {
	listen, endpoints, metrics, advertise string
	publish, tokenFile                    string
	certificate, key, clientCA            string
	clusterTLS, clusterCA                 string
	clusterCertificate, clusterKey        string
	plainTickets, showVersion             bool
	streams, connections, processors      int
	queued                                bytesize.Size
	drain                                 time.Duration
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("signalbox-ydb", flag.ContinueOnError)
	f.StringVar(&o.listen, "listen", "127.0.0.1:2136", "Address for SDKs, host:port")
	f.StringVar(&o.endpoints, "endpoints", "127.0.0.1:7420", "Addresses of cluster hosts, separated by commas")
	f.StringVar(&o.advertise, "advertise", "", "Gateways returned by discovery, host:port[/location], separated "+
		"by commas. Default: the address that the caller used")
	f.StringVar(&o.publish, "publish", "", "Address of this gateway for SDKs, host:port[/location]. The gateway "+
		"registers the address in the cluster, and discovery returns all registered gateways")
	f.StringVar(&o.tokenFile, "token-file", "", "File with the access token that --publish uses")
	f.StringVar(&o.metrics, "metrics-listen", "127.0.0.1:2137", "Address for /metrics, /livez and /readyz, or off")
	f.StringVar(&o.certificate, "tls-cert", "", "Server certificate file for SDKs, PEM")
	f.StringVar(&o.key, "tls-key", "", "its key")
	f.StringVar(&o.clientCA, "tls-client-ca", "", "File with the CA that signs SDK certificates, PEM. If set, "+
		"SDKs must have a certificate")
	f.StringVar(&o.clusterTLS, "cluster-tls", "off", "TLS for connections to hosts: off or on")
	f.StringVar(&o.clusterCA, "cluster-ca", "", "File with the CA that signs host certificates, PEM. Default: "+
		"the system CAs")
	f.StringVar(&o.clusterCertificate, "cluster-cert", "", "Client certificate file for hosts, PEM. Required by "+
		"hosts with --tls-client-ca")
	f.StringVar(&o.clusterKey, "cluster-key", "", "its key")
	f.BoolVar(&o.plainTickets, "allow-plaintext-tokens", false, "Accept tickets from other machines without TLS")
	f.IntVar(&o.streams, "max-sessions", ydb.DefaultMaxStreams, "Maximum sessions")
	f.IntVar(&o.connections, "max-connections", 0, "Maximum SDK connections. 0 is 10,000 or a quarter "+
		"of the open file limit, whichever is less")
	f.IntVar(&o.processors, "processors", 0, "Number of processors to use. 0 is GOMAXPROCS if set, else half the "+
		"processors of the machine")
	o.queued = ydb.DefaultMaxQueuedBytes
	f.Var(&o.queued, "max-queued", "Maximum `size` of unread data for all SDKs together. 4MiB per session")
	f.DurationVar(&o.drain, "drain-timeout", 5*time.Second, "Maximum time to wait for sessions to leave on shutdown")
	f.BoolVar(&o.showVersion, "version", false, "Print the version and exit")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; signalbox-ydb takes flags only", f.Arg(0))
	case o.processors < 0:
		return o, errors.New("--processors must not be negative")
	case o.connections < 0:
		return o, errors.New("--max-connections must not be negative")
	case (o.certificate == "") != (o.key == ""):
		return o, errors.New("--tls-cert and --tls-key must be set together")
	case o.clientCA != "" && o.certificate == "":
		return o, errors.New("--tls-client-ca requires --tls-cert and --tls-key")
	case (o.clusterCertificate == "") != (o.clusterKey == ""):
		return o, errors.New("--cluster-cert and --cluster-key go together")
	case o.clusterTLS != "on" && (o.clusterCertificate != "" || o.clusterCA != ""):
		return o, errors.New("--cluster-ca, --cluster-cert and --cluster-key need --cluster-tls on")
	case o.queued < 1<<20 || o.queued > 1<<40:
		return o, errors.New("--max-queued is 1MiB to 1TiB")
	case o.publish != "" && o.advertise != "":
		return o, errors.New("--publish and --advertise exclude each other: discovery names those of one list")
	}
	return o, nil
}

// timerSlack is by how much timers may come late: nothing here has to be done within less.
const timerSlack = time.Millisecond

func main() {
	timerslack.Ensure(timerSlack)
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "signalbox-ydb:", err)
		os.Exit(exitUsage)
	case o.showVersion:
		fmt.Println("signalbox-ydb", version)
		return
	}
	if o.processors > 0 || os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors(o.processors, runtime.GOMAXPROCS(0)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, o, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, "signalbox-ydb:", err)
		os.Exit(exitFailed)
	}
}

// processors returns how many available processors the gateway uses: as many as requested, or else half. Programs and
// hosts often share the machine, and work on a single processor does not wake a second processor for every step.
func processors(asked, available int) int {
	if asked > 0 {
		return asked
	}
	return max(1, available/2)
}

// serve runs a gateway until the context ends, and drains the gateway then.
func serve(ctx context.Context, o options, log *slog.Logger) error {
	config, err := configOf(o, log)
	if err != nil {
		return err
	}
	g, err := ydb.New(config)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := publish(o, g); err != nil {
		return err
	}
	server, err := newServer(o, g)
	if err != nil {
		return err
	}
	g.Register(server)
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	if o.metrics != "off" {
		admin, err := serveMetrics(o.metrics, g, failed)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		defer admin.Close()
	}
	go func() { failed <- server.Serve(g.Listener(l)) }()
	log.Info("the gateway is ready", "listen_address", l.Addr().String(), "cluster", o.endpoints)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Info("the gateway drains")
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.drain)
	defer cancel()
	if err := g.Drain(limit); err != nil {
		log.Warn("sessions are left, and lose their connection", "error", err)
	}
	server.Stop()
	return nil
}

// publish makes the cluster list the gateway, if requested.
func publish(o options, g *ydb.Gateway) error {
	if o.publish == "" {
		return nil
	}
	own, err := endpointsOf("publish", o.publish)
	if err != nil {
		return err
	}
	if len(own) != 1 || own[0].Address == "" || own[0].Port == 0 {
		return fmt.Errorf("--publish: %q is not one address", o.publish)
	}
	var token []byte
	if o.tokenFile != "" {
		if token, err = os.ReadFile(o.tokenFile); err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
	}
	g.Publish(own[0], strings.TrimSpace(string(token)))
	return nil
}

// serveMetrics serves the pages for operators and orchestrators.
func serveMetrics(address string, g *ydb.Gateway, failed chan<- error) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !g.Ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "the gateway goes away")
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { _ = g.WriteMetrics(w) })
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return s, nil
}
