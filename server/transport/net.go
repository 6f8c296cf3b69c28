package transport

import (
	"log/slog"
	"net"
	"sync"
)

// NetOptions sets a listener of ListenNet or ListenGnet up. The zero value is good.
type NetOptions struct {
	// Loops is the number of event loops of ListenGnet; 0 means a loop for every two processors. A loop is a goroutine
	// that reads, calls Events and writes for its share of the connections.
	Loops int
	// MaxConnections is the limit of open connections; a connection above the limit is closed at once, without a call
	// of the Handler. 0 derives the limit from the process's limit of file descriptors (see RaiseFileLimit).
	MaxConnections int
	// Stats counts the connections; nil: the connections are not counted.
	Stats *Stats
	// Logger logs refused connections and errors; nil is the default logger.
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
