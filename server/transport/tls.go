package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"time"
)

// TLSOptions sets a listener of ListenTLS up. Config is required, of the rest the zero value is good.
type TLSOptions struct {
	// Config is used as it is; CertificateSource.ServerConfig makes one.
	Config *tls.Config
	// HandshakeTimeout is how long a handshake may take; 0 means the constant of that name.
	HandshakeTimeout time.Duration
	// Handshakes is how many handshakes compute at once, each a processor's work of about a millisecond; 0 means half
	// as many as there are processors. What waits for its peer does not count.
	Handshakes int
	// HalfOpen is how many connections may be in their handshake, HalfOpenPerAddress how many of one address. Beyond
	// that the ones that have been silent for longest make room. 0 means the constants of these names.
	HalfOpen           int
	HalfOpenPerAddress int
	// MaxConnections is how many connections there may be; one more is closed at once and the Handler
	// not asked. 0 derives it from the process's limit of file descriptors (see RaiseFileLimit).
	MaxConnections int
	// Stats counts the connections; nil: they are not counted.
	Stats *Stats
	// Logger takes what is worth a line; nil is the default logger.
	Logger *slog.Logger

	silence time.Duration // after which a half-open connection makes room for others; 0 means halfOpenSilence
}

// ErrNoTLSConfig: ListenTLS was called without a configuration.
var ErrNoTLSConfig = errors.New("no TLS configuration")

// ListenTLS listens on addr, "host:port", for TLS connections and serves each with goroutines of its own.
// The Handler sees a connection when its handshake is done. When ListenTLS returns the listener works
// and Addr has the port that it got.
func ListenTLS(addr string, handler Handler, options TLSOptions) (Listener, error) {
	if options.Config == nil {
		return nil, fmt.Errorf("transport: listen on %s: %w: set TLSOptions.Config, for example to that of "+
			"LoadCertificates", addr, ErrNoTLSConfig)
	}
	a, err := newAcceptor(addr, options.MaxConnections, options.Stats, options.Logger)
	if err != nil {
		return nil, err
	}
	half := newHandshakes(a.closing, options.withDefaults(int(a.limit)))
	l := &streamListener{acceptor: a, streams: newStreams(handler), handshakes: half}
	a.start(func(socket *net.TCPConn) {
		h := half.admit(socket)
		if h == nil {
			a.release()
			_ = socket.Close()
			return
		}
		l.starting.Go(func() {
			defer a.release()
			conn, evicted, err := h.run()
			if evicted {
				a.stats.EvictedHandshakes.Add(1)
				a.complain("half-open connections closed to make room for others", "limit", half.options.HalfOpen,
					"remote", socket.RemoteAddr())
			}
			if evicted || err != nil {
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

// withDefaults fills in what is zero, for a listener of so many connections.
func (o TLSOptions) withDefaults(connections int) TLSOptions {
	if o.HandshakeTimeout <= 0 {
		o.HandshakeTimeout = HandshakeTimeout
	}
	if o.Handshakes <= 0 {
		o.Handshakes = max(runtime.GOMAXPROCS(0)/2, 1)
	}
	if o.HalfOpen <= 0 {
		o.HalfOpen = max(min(HalfOpen, connections/2), 1)
	}
	if o.silence <= 0 {
		o.silence = halfOpenSilence
	}
	if o.HalfOpenPerAddress <= 0 {
		o.HalfOpenPerAddress = max(o.HalfOpen/(HalfOpen/HalfOpenPerAddress), 1)
	}
	return o
}
