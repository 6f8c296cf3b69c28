// Command signalbox-ydb lets programs on YDB's SDKs use a cluster of Signalbox.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/internal/timerslack"
)

// What sysexits.h calls these two.
const (
	exitUsage  = 64
	exitFailed = 69
)

type options struct {
	listen, endpoints, metrics, advertise   string
	publish, tokenFile                      string
	certificate, key, clusterCA, clusterTLS string
	plainTickets                            bool
	streams, perAddress, processors         int
	drain                                   time.Duration
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("signalbox-ydb", flag.ContinueOnError)
	f.StringVar(&o.listen, "listen", "127.0.0.1:2136", "where SDKs call, host:port")
	f.StringVar(&o.endpoints, "endpoints", "127.0.0.1:7420", "hosts of the cluster, separated by commas")
	f.StringVar(&o.advertise, "advertise", "", "gateways that discovery names, host:port[/location], separated by "+
		"commas; where it is empty each caller finds the address that it has called")
	f.StringVar(&o.publish, "publish", "", "where SDKs reach this gateway, host:port[/location]: it is kept in the "+
		"cluster, and discovery names all gateways that are")
	f.StringVar(&o.tokenFile, "token-file", "", "a file with the token by which --publish lets the cluster keep it")
	f.StringVar(&o.metrics, "metrics", "127.0.0.1:2137", "where /metrics, /livez and /readyz are; off for nowhere")
	f.StringVar(&o.certificate, "tls-cert", "", "the certificate that SDKs see")
	f.StringVar(&o.key, "tls-key", "", "its key")
	f.StringVar(&o.clusterTLS, "cluster-tls", "off", "how hosts are called: off, on")
	f.StringVar(&o.clusterCA, "cluster-ca", "", "the authority of the hosts' certificates; the system's where it is "+
		"empty")
	f.BoolVar(&o.plainTickets, "plain-tickets", false, "take tickets without TLS from other machines")
	f.IntVar(&o.streams, "max-sessions", ydb.DefaultMaxStreams, "sessions at a time")
	f.IntVar(&o.perAddress, "max-sessions-per-address", ydb.DefaultMaxStreams, "sessions at a time of one address")
	f.IntVar(&o.processors, "processors", 0, "how many processors it uses; 0 for what GOMAXPROCS says, or else half "+
		"of the machine's")
	f.DurationVar(&o.drain, "drain", 5*time.Second, "how long a stop waits for sessions to leave")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag", f.Arg(0))
	}
	if o.processors < 0 {
		return o, errors.New("--processors is 0 or more")
	}
	if (o.certificate == "") != (o.key == "") {
		return o, errors.New("--tls-cert and --tls-key go together")
	}
	if o.publish != "" && o.advertise != "" {
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

// processors is how many processors the gateway uses of those that it may use: as many as were asked for, or else half
// of them. Programs and hosts often share its machine, and work that one processor does wakes no other one for each
// part.
func processors(asked, available int) int {
	if asked > 0 {
		return asked
	}
	return max(1, available/2)
}

// serve runs a gateway until the context ends, and drains it then.
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
	server, err := newServer(o)
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
	go func() { failed <- server.Serve(ydb.Listener(l)) }()
	log.Info("the gateway is ready", "listen", l.Addr().String(), "cluster", o.endpoints)
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

// publish has the cluster keep the gateway in its list, if it is asked for.
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

func newServer(o options) (*grpc.Server, error) {
	all := ydb.ServerOptions()
	if o.certificate != "" {
		c, err := tls.LoadX509KeyPair(o.certificate, o.key)
		if err != nil {
			return nil, err
		}
		all = append(all, grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12,
		})))
	}
	return grpc.NewServer(all...), nil
}

func configOf(o options, log *slog.Logger) (c ydb.Config, err error) {
	var secured *tls.Config
	if o.clusterTLS == "on" {
		secured = &tls.Config{MinVersion: tls.VersionTLS12}
		if o.clusterCA != "" {
			pem, err := os.ReadFile(o.clusterCA)
			if err != nil {
				return c, err
			}
			secured.RootCAs = x509.NewCertPool()
			if !secured.RootCAs.AppendCertsFromPEM(pem) {
				return c, fmt.Errorf("%s has no certificate", o.clusterCA)
			}
		}
	} else if o.clusterTLS != "off" {
		return c, fmt.Errorf("--cluster-tls is %q; on or off", o.clusterTLS)
	}
	endpoints, err := endpointsOf("advertise", o.advertise)
	return ydb.Config{
		Endpoints: endpoints, Secure: o.certificate != "", PlainTickets: o.plainTickets, MaxStreams: o.streams,
		MaxStreamsPerAddress: o.perAddress, Log: log,
		Open: func(ctx context.Context, token string) (*client.Client, error) {
			all := []client.Option{client.WithName("signalbox-ydb"), client.WithToken(token), client.WithLogger(log)}
			if secured != nil {
				all = append(all, client.WithTLS(secured))
			}
			return client.Open(ctx, o.endpoints, all...)
		},
	}, err
}

// endpointsOf reads host:port[/location], separated by commas, of a flag.
func endpointsOf(flag, list string) (all []ydb.Endpoint, err error) {
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		address, location, _ := strings.Cut(item, "/")
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("--%s: the port of %s: %w", flag, address, err)
		}
		all = append(all, ydb.Endpoint{Address: host, Port: uint32(n), Location: location})
	}
	return all, nil
}

// serveMetrics serves what operators and orchestrators ask.
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
