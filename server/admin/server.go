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

// The limits of the admin server. The server is for few, well-known clients, and must not hold the host up if clients
// are neither.
const (
	// maxConnections is the largest number of connections. A further connection replaces an idle one of an address
	// that has more than its share.
	maxConnections = 256
	// pageLimit is how many pages besides health are made at once; well below maxConnections.
	pageLimit     = 32
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	// writeTimeout leaves room for a profile of a minute.
	writeTimeout   = 75 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	// closeTimeout is how long Close waits for requests under way.
	closeTimeout = 200 * time.Millisecond
)

// Server listens for HTTP.
type Server struct {
	http     *http.Server
	listener net.Listener
	serving  sync.WaitGroup
}

// Listen serves the pages at an address until Close.
func Listen(address string, pages http.Handler, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: %w: another process listens there; "+
			"stop it or choose another port", address, err)
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
			log.Error("health, metrics and status are served no more", "error", err)
		}
	})
	return s, nil
}

// Addr is the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening, and gives requests under way a moment to end.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	s.serving.Wait()
}

// limited serves few costly or slowly read pages at a time. Health is served beside them at all times. The connection
// of a page in the making is never closed to make room, because pageLimit is far below the number of connections.
func limited(pages http.Handler) http.Handler {
	places := make(chan struct{}, pageLimit)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close") // no page waits for a body
		}
		if strings.HasPrefix(r.URL.Path, healthPath) || healthAlias(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		select {
		case places <- struct{}{}:
		default:
			w.Header().Set("Retry-After", "1")
			writeText(w, http.StatusServiceUnavailable, "too many pages are asked for at once\n")
			return
		}
		defer func() { <-places }()
		if conn := httplimit.Of(r); conn.Begin() {
			defer conn.End()
			pages.ServeHTTP(w, r)
		}
	})
}
