package admin

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// The limits of the admin server. It is for few clients that are well known, and must not hold the host up
// when they are not.
const (
	// maxConnections is how many there may be at once; one more takes the place of the one that has done nothing for
	// longest.
	maxConnections = 256
	// pageLimit is how many pages are made at once, other than those of health; well below maxConnections.
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
	conns    connections
	serving  sync.WaitGroup
}

// Listen serves the pages at an address until Close.
func Listen(address string, pages http.Handler, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("admin: listen on %s: %w: another process listens there; "+
			"stop it or choose another port", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("admin: listen on %s: %w", address, err)
	}
	s := &Server{listener: listener, conns: connections{open: make(map[net.Conn]*list.Element)}}
	s.http = &http.Server{
		Handler: s.conns.limited(pages), ConnContext: withConn,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ConnState: s.conns.changed,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		if err := s.http.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("health, metrics and status are served no more", "error", err)
		}
	})
	return s, nil
}

// Addr is where it listens.
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
