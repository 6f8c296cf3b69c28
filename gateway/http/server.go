package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/signalbox/signalbox/internal/httplimit"
)

const (
	// defaultConnections is the default maximum number of connections.
	defaultConnections = 2048
	maxHeaderBytes     = 16 << 10
	headerTimeout      = 5 * time.Second
	// bodyTimeout is how long a request may take to arrive completely.
	bodyTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
	// answerTimeout is the time limit for making and reading a response. Longer routes set their own limit.
	answerTimeout = 60 * time.Second
	closeTimeout  = time.Second
)

// Server listens for a Gateway.
type Server struct {
	gateway  *Gateway
	limiter  *httplimit.Limiter
	http     *http.Server
	listener net.Listener
	serving  sync.WaitGroup
}

// Listen serves a gateway at an address until Close, over TLS if a configuration for TLS is given.
func Listen(address string, g *Gateway, config *tls.Config, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("http: cannot listen on %s: %w", address, err)
	}
	s := &Server{gateway: g, limiter: httplimit.New(httplimit.Limits{
		Connections: cmp.Or(g.config.Connections, defaultConnections), Bytes: heldBytes,
	})}
	s.listener = s.limiter.Listen(listener)
	if config != nil {
		config = config.Clone()
		config.NextProtos = []string{"http/1.1"} // a connection has one request at a time
		s.listener = tls.NewListener(s.listener, config)
	}
	s.http = &http.Server{
		Handler: g, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.limiter.Attach(s.http)
	s.serving.Go(func() {
		if err := s.http.Serve(s.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("the HTTP API is no longer served", "error", err)
		}
	})
	return s, nil
}

// Addr returns the listener's address.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening, ends streams, gives requests in progress a moment to end, and closes the gateway.
func (s *Server) Close() {
	s.gateway.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	s.serving.Wait()
	s.gateway.Close()
}

// WriteMetrics writes the server's metrics in Prometheus text format.
func (s *Server) WriteMetrics(w io.Writer) {
	s.limiter.WriteMetrics(w)
	s.gateway.writeMetrics(w)
}
