package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/internal/httplimit"
)

// Limits for the admin server. The server is for a few trusted clients, and must not slow the host down if clients
// are numerous or hostile.
const (
	// maxConnections is the maximum number of connections. A new connection above the limit replaces an idle
	// connection from an address with more than its share.
	maxConnections = 256
	// pageLimit is the maximum number of concurrent requests for non-health pages; well below maxConnections.
	pageLimit     = 32
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	// writeTimeout leaves time for a one-minute profile.
	writeTimeout   = 75 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	// closeTimeout is how long Close waits for requests in progress.
	closeTimeout = 200 * time.Millisecond
)

// Server is an HTTP listener.
type Server struct {
	http     *http.Server
	listener net.Listener
	serving  sync.WaitGroup
}

// Listen serves the pages on an address until Close.
func Listen(address string, pages http.Handler, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: %w; stop the process that uses the address, or "+
			"choose another port", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	limiter := httplimit.New(httplimit.Limits{Connections: maxConnections})
	s := &Server{listener: limiter.Listen(listener)}
	s.http = &http.Server{
		Handler:           limited(pages),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	limiter.Attach(s.http)
	s.serving.Go(func() {
		if err := s.http.Serve(s.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("health, metrics and status are no longer served", "error", err)
		}
	})
	return s, nil
}

// Addr is the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening, and waits briefly for requests in progress.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	s.serving.Wait()
}

// limited bounds the number of concurrent expensive or slowly read pages. Health pages are exempt. pageLimit is far
// below maxConnections, so a connection with a page in progress is never closed to admit another.
func limited(pages http.Handler) http.Handler {
	places := make(chan struct{}, pageLimit)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close") // pages read no request body
		}
		if strings.HasPrefix(r.URL.Path, healthPath) || healthAlias(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		select {
		case places <- struct{}{}:
		default:
			w.Header().Set("Retry-After", "1")
			writeText(w, http.StatusServiceUnavailable, "too many concurrent requests\n")
			return
		}
		defer func() { <-places }()
		if conn := httplimit.Of(r); conn.Begin() {
			defer conn.End()
			pages.ServeHTTP(w, r)
		}
	})
}
