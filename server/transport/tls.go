package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// TLSOptions configures ListenTLS. Config is required; all other zero values are usable.
type TLSOptions struct {
	// Config is used as given; CertificateSource.ServerConfig returns a suitable Config.
	Config *tls.Config
	// HandshakeTimeout is the time limit for a handshake; 0 means the constant HandshakeTimeout.
	HandshakeTimeout time.Duration
	// Handshakes is the number of handshakes that compute at once, each for about a millisecond of processor time; 0
	// means half the number of processors. Handshakes that wait for their peers do not count.
	Handshakes int
	// HalfOpen is the maximum number of connections in their handshake, HalfOpenPerAddress the maximum per address.
	// Above the limits, the longest silent connections are closed. 0 means the constants HalfOpen and
	// HalfOpenPerAddress.
	HalfOpen           int
	HalfOpenPerAddress int
	// MaxConnections is the maximum number of open connections. A connection above the limit is closed immediately,
	// without calling the Handler. 0 derives the limit from the process's file descriptor limit (see RaiseFileLimit).
	MaxConnections int
	// Stats counts the connections; nil disables counting.
	Stats *Stats
	// Logger logs refused connections and errors; nil is the default logger.
	Logger *slog.Logger

	silence time.Duration // how long a half-open connection may be silent before eviction; 0 means halfOpenSilence
}

// ErrNoTLSConfig: ListenTLS was called without a configuration.
var ErrNoTLSConfig = errors.New("no TLS configuration")

// ListenTLS listens on addr, "host:port", for TLS connections and serves every connection with its own goroutines.
// The Handler sees a connection after its handshake. When ListenTLS returns, the listener works and Addr has the
// actual port.
func ListenTLS(addr string, handler Handler, options TLSOptions) (Listener, error) {
	if options.Config == nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; set TLSOptions.Config, for example with "+
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
				a.complain("half-open connections closed to admit other connections", "limit", half.options.HalfOpen,
					"remote_address", socket.RemoteAddr())
			}
			if evicted || err != nil {
				a.stats.FailedHandshakes.Add(1)
				a.logger.Debug("TLS handshake failed", "remote_address", socket.RemoteAddr(), "error", err)
				_ = socket.Close()
				return
			}
			state := conn.ConnectionState()
			l.streams.serve(conn, socket, &state)
		})
	})
	return l, nil
}

// withDefaults replaces zero values, for a listener with the given maximum number of connections.
func (o TLSOptions) withDefaults(connections int) TLSOptions {
	o.HandshakeTimeout = positive(o.HandshakeTimeout, HandshakeTimeout)
	o.Handshakes = positive(o.Handshakes, halfOfProcessors())
	o.HalfOpen = positive(o.HalfOpen, max(min(HalfOpen, connections/2), 1))
	o.silence = positive(o.silence, halfOpenSilence)
	o.HalfOpenPerAddress = positive(o.HalfOpenPerAddress, max(o.HalfOpen/(HalfOpen/HalfOpenPerAddress), 1))
	return o
}
