package transport

import (
	"log/slog"
	"net"
	"sync"
)

// NetOptions sets a listener of ListenNet up. The zero value is good.
type NetOptions struct {
	// MaxConnections is how many connections there may be; one more is closed at once and the Handler
	// not asked. 0 derives it from the process's limit of file descriptors (see RaiseFileLimit).
	MaxConnections int
	// Stats counts the connections; nil: they are not counted.
	Stats *Stats
	// Logger takes what is worth a line; nil is the default logger.
	Logger *slog.Logger
}

// streamListener serves TCP connections with goroutines.
type streamListener struct {
	acceptor   *acceptor
	streams    *streams
	handshakes *handshakes    // nil without TLS
	starting   sync.WaitGroup // goroutines of connections
	closeOnce  sync.Once
	closeErr   error
}

// ListenNet listens on addr, "host:port", for plain TCP connections and serves each with goroutines of
// its own: for operating systems that ListenGnet does not suit. When it returns the listener works and
// Addr has the port that it got.
func ListenNet(addr string, handler Handler, options NetOptions) (Listener, error) {
	a, err := newAcceptor(addr, options.MaxConnections, options.Stats, options.Logger)
	if err != nil {
		return nil, err
	}
	l := &streamListener{acceptor: a, streams: newStreams(handler)}
	a.start(func(socket *net.TCPConn) {
		l.starting.Go(func() {
			defer a.release()
			l.streams.serve(socket, socket, nil)
		})
	})
	return l, nil
}

func (l *streamListener) Addr() net.Addr { return l.acceptor.socket.Addr() }

func (l *streamListener) Close() error {
	l.closeOnce.Do(func() {
		l.closeErr = l.acceptor.close()
		if l.handshakes != nil {
			l.handshakes.close()
		}
		l.streams.close()
		l.starting.Wait()
	})
	return l.closeErr
}
