package transport

import (
	"log/slog"
	"net"
	"sync"
)

// NetOptions configures ListenNet and ListenGnet. The zero value is usable.
type NetOptions struct {
	// Loops is the number of event loops for ListenGnet; 0 means one loop per two processors. A loop is a goroutine
	// that reads, calls Events and writes for its share of the connections.
	Loops int
	// MaxConnections is the maximum number of open connections. A connection above the limit is closed immediately,
	// without calling the Handler. 0 derives the limit from the process's file descriptor limit (see RaiseFileLimit).
	MaxConnections int
	// Stats counts the connections; nil disables counting.
	Stats *Stats
	// Logger logs refused connections and errors; nil is the default logger.
	Logger *slog.Logger
}

// streamListener serves TCP connections with goroutines.
type streamListener struct {
	acceptor   *acceptor
	streams    *streams
	handshakes *handshakes    // nil without TLS
	starting   sync.WaitGroup // connection goroutines
	closeOnce  sync.Once
	closeErr   error
}

// ListenNet listens on addr, "host:port", for plain TCP connections and serves every connection with its own
// goroutines, for operating systems without good event loops. When ListenNet returns, the listener works and Addr has
// the actual port.
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
