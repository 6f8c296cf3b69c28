package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// TLSOptions sets a listener of ListenTLS up. Config is required, of the rest the zero value is good.
type TLSOptions struct {
	// Config is used as it is; CertificateSource.ServerConfig makes one.
	Config *tls.Config
	// HandshakeTimeout is how long a handshake may take; 0 means the constant of that name.
	HandshakeTimeout time.Duration
	// Handshakes is how many handshakes run at once; 0 means the constant of that name. Further
	// connections wait in the operating system.
	Handshakes int
	// MaxConnections is how many connections there may be; one more is closed at once and the Handler
	// not asked. 0 derives it from the process's limit of file descriptors (see RaiseFileLimit).
	MaxConnections int
	// Stats counts the connections; nil if nobody wants to know.
	Stats *Stats
	// Logger takes what is worth a line; nil is the default logger.
	Logger *slog.Logger
}

// ErrNoTLSConfig: ListenTLS was called without a configuration.
var ErrNoTLSConfig = errors.New("no TLS configuration")

// ListenTLS listens on addr, "host:port", for TLS connections and serves each with goroutines of its own.
// The Handler sees a connection when its handshake is done. When ListenTLS returns the listener works
// and Addr has the port that it got.
func ListenTLS(addr string, handler Handler, options TLSOptions) (Listener, error) {
	if options.Config == nil {
		return nil, fmt.Errorf("transport: listen on %s: %w: set TLSOptions.Config, for example to that of LoadCertificates", addr, ErrNoTLSConfig)
	}
	if options.HandshakeTimeout <= 0 {
		options.HandshakeTimeout = HandshakeTimeout
	}
	if options.Handshakes <= 0 {
		options.Handshakes = Handshakes
	}
	a, err := newAcceptor(addr, options.MaxConnections, options.Stats, options.Logger)
	if err != nil {
		return nil, err
	}
	l := &streamListener{acceptor: a, streams: newStreams(handler)}
	places := make(chan struct{}, options.Handshakes)
	a.start(func(socket *net.TCPConn) {
		select {
		case places <- struct{}{}:
		case <-a.closing.Done():
			a.release()
			_ = socket.Close()
			return
		}
		l.starting.Go(func() {
			defer a.release()
			conn := tls.Server(socket, options.Config)
			limited, cancel := context.WithTimeout(a.closing, options.HandshakeTimeout)
			err := conn.HandshakeContext(limited)
			cancel()
			<-places
			if err != nil {
				a.stats.FailedHandshakes.Add(1)
				a.logger.Debug("TLS handshake failed", "remote", socket.RemoteAddr(), "error", err)
				_ = socket.Close()
				return
			}
			state := conn.ConnectionState()
			l.streams.serve(conn, socket, &state)
		})
	})
	return l, nil
}
