package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxConnections bounds the connections of a server. More wait to be accepted.
	maxConnections = 4096
	// answerTimeout is how long an answer may take to be made and read. Routes that take longer say so.
	answerTimeout = 60 * time.Second
	closeTimeout  = time.Second
)

// Server listens for a Gateway.
type Server struct {
	gateway  *Gateway
	http     *http.Server
	listener net.Listener
	serving  sync.WaitGroup
}

// Listen serves a gateway at an address until Close, over TLS where there is a configuration of that.
func Listen(address string, g *Gateway, config *tls.Config, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("http: listen on %s: %w", address, err)
	}
	limited := &limitedListener{Listener: listener, places: make(chan struct{}, maxConnections)}
	s := &Server{gateway: g, listener: limited}
	if config != nil {
		config = config.Clone()
		config.NextProtos = []string{"http/1.1"} // deadlines of single answers are those of connections
		s.listener = tls.NewListener(s.listener, config)
	}
	s.http = &http.Server{
		Handler: g, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		if err := s.http.Serve(s.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("the HTTP API is served no more", "error", err)
		}
	})
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening, ends streams, gives other requests under way a moment to end, and closes the gateway.
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

// limitedListener accepts so many connections at a time.
type limitedListener struct {
	net.Listener
	places chan struct{}
}

// Accept waits for a place, and for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	l.places <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// placedConn gives its place back when it is closed.
type placedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *placedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
