package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	gateway "github.com/signalbox/signalbox/gateway/http"
	"github.com/signalbox/signalbox/gateway/http/console"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/host"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/server/transport"
)

// httpClient is the HTTP API's client name, as seen by hosts.
const httpClient = "signalbox-http"

// httpAPI serves the HTTP API for a host. A nil httpAPI serves nothing.
type httpAPI struct {
	server  *gateway.Server
	gateway *gateway.Gateway  // behind the server
	inside  *transport.Inside // the API's in-memory connection to its own host
	scheme  string
}

// serveHTTP serves a host's HTTP API; the result is nil if the settings disable the API. A default address already in
// use is not a failure: another host on the machine serves the API there.
func serveHTTP(h *host.Host, s *settings.Settings, log *slog.Logger) (*httpAPI, error) {
	if !s.ServesHTTP() {
		return nil, nil
	}
	dialer, err := newHostDialer(h, s)
	if err != nil {
		return nil, cli.ExitWith(cli.ExitUsage, err)
	}
	api := &httpAPI{inside: dialer.inside, scheme: "http"}
	var certificate *tls.Config
	if s.TLSCert != "" {
		source, err := transport.LoadCertificates(s.TLSCert, s.TLSKey, "")
		if err != nil {
			return nil, cli.ExitWith(cli.ExitUsage, err)
		}
		api.scheme, certificate = "https", source.ServerConfig()
	}
	g := gateway.New(gateway.Config{
		Open: dialer.open, Names: s.NamesOverHTTP(), Secure: certificate != nil, Actions: s.ConsoleAnonymousWrites,
		Log:   log,
		Files: console.Files(), Proxies: s.HTTPTrustedProxies, Connections: transport.GatewayConnections(),
		Note: func(ctx context.Context, a gateway.Act) error {
			return h.NoteAct(ctx, audit.Note{Token: []byte(a.Token), Address: a.From, What: a.What, Why: a.Why})
		},
	})
	if api.server, err = gateway.Listen(s.HTTPListen, g, certificate, log); err == nil {
		api.gateway = g
		h.AddMetrics(api.server.WriteMetrics)
		return api, nil
	}
	g.Close()
	_ = api.inside.Close()
	if !s.WantsHTTP() && errors.Is(err, syscall.EADDRINUSE) {
		log.Info("the HTTP API is off: another process listens on its address; give another address with "+
			"--http-listen", "address", s.HTTPListen)
		return nil, nil
	}
	return nil, cli.ExitWith(cli.ExitUnavailable, fmt.Errorf("--http-listen: %w", err))
}

// Close stops the API before its host.
func (ha *httpAPI) Close() {
	if ha != nil {
		ha.server.Close()
		_ = ha.inside.Close()
	}
}

// addLoad passes the host's load to the console.
func (ha *httpAPI) addLoad(l client.HostLoad) {
	if ha != nil {
		ha.gateway.AddLoad(l)
	}
}

// greeting returns the console and API addresses, for a user who started the host manually.
func (ha *httpAPI) greeting() string {
	if ha == nil {
		return ""
	}
	return fmt.Sprintf("\nThe console is at %s://%s, and the HTTP API below /v1/", ha.scheme, ha.server.Addr())
}

// hostDialer connects the API to hosts: in memory to its own host, and like any client to all others.
type hostDialer struct {
	inside *transport.Inside
	own    string
	tls    *tls.Config // nil: the hosts do not use TLS
}

func newHostDialer(h *host.Host, s *settings.Settings) (*hostDialer, error) {
	d := &hostDialer{own: h.Addresses().ClientAdvertise}
	if s.ServesTLS() && s.Advertise == s.TLSListen || s.ServesTLS() && !s.ServesPlain() {
		d.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if d.tls != nil && s.HTTPPeerCA != "" {
		pem, err := os.ReadFile(s.HTTPPeerCA)
		if err != nil {
			return nil, fmt.Errorf("--http-peer-ca: %w", err)
		}
		d.tls.RootCAs = x509.NewCertPool()
		if !d.tls.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--http-peer-ca %s contains no PEM certificate", s.HTTPPeerCA)
		}
	}
	d.inside = transport.NewInside(h, transport.Pipes(httpClient))
	return d, nil
}

// open creates the client for one token.
func (hd *hostDialer) open(ctx context.Context, token string) (*client.Client, error) {
	return client.Open(ctx, cmp.Or(hd.own, httpClient), client.WithName(httpClient), client.WithToken(token),
		client.WithDialer(hd.dial))
}

func (hd *hostDialer) dial(ctx context.Context, address string) (net.Conn, error) {
	if address == cmp.Or(hd.own, httpClient) {
		return hd.inside.Dial()
	}
	if hd.tls != nil {
		return (&tls.Dialer{Config: hd.tls}).DialContext(ctx, "tcp", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
