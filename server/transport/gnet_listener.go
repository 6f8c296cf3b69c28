//go:build linux || darwin || freebsd

package transport

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/panjf2000/gnet/v2"
)

// gnetListener runs connections on gnet's event loops. The listener accepts connections itself, because gnet's own
// accept loop stops the engine on the first unknown error, such as EMFILE.
type gnetListener struct {
	gnet.BuiltinEventEngine

	handler  Handler
	acceptor *acceptor
	engine   *gnet.Client
	logger   *slog.Logger

	mu    sync.Mutex
	loops map[gnet.EventLoop]*gnetLoop // a gnetLoop for every event loop that has had a connection

	closeOnce sync.Once
	closeErr  error
}

// ListenGnet listens on addr, "host:port", for plain TCP connections and serves them on event loops. When ListenGnet
// returns, the listener works and Addr has the actual port.
func ListenGnet(addr string, handler Handler, options NetOptions) (Listener, error) {
	a, err := newAcceptor(addr, options.MaxConnections, options.Stats, options.Logger)
	if err != nil {
		return nil, err
	}
	l := &gnetListener{handler: handler, acceptor: a, logger: a.logger, loops: make(map[gnet.EventLoop]*gnetLoop)}
	l.engine, err = gnet.NewClient(l,
		gnet.WithNumEventLoop(positive(options.Loops, halfOfProcessors())),
		gnet.WithLogger(gnetLogger{a.logger}),
		// The net package has already disabled Nagle's algorithm.
		gnet.WithTCPNoDelay(gnet.TCPDelay),
	)
	if err == nil {
		err = l.engine.Start()
	}
	if err != nil {
		_ = a.close()
		return nil, fmt.Errorf("cannot start the event loops for %s: %w", addr, err)
	}
	a.start(l.take)
	return l, nil
}

func (l *gnetListener) Addr() net.Addr { return l.acceptor.socket.Addr() }

// Close stops accepting connections, forbids all goroutines to wake an event loop, and then ends the loops, which
// close their connections. The order matters: gnet closes the descriptor for waking a loop without checking whether a
// goroutine is about to write to it, and by then its number may refer to a different file.
func (l *gnetListener) Close() error {
	l.closeOnce.Do(func() {
		l.closeErr = l.acceptor.close()
		l.mu.Lock()
		loops := l.loops
		l.mu.Unlock()
		for _, loop := range loops {
			loop.seal()
		}
		l.closeErr = errors.Join(l.closeErr, l.engine.Stop())
	})
	return l.closeErr
}

// take moves an accepted connection to an event loop and waits until the loop has opened it.
func (l *gnetListener) take(socket *net.TCPConn) {
	c := &gnetConn{remote: socket.RemoteAddr()}
	_, err := l.engine.EnrollContext(socket, c)
	if err != nil || c.raw == nil {
		l.acceptor.release()
		l.acceptor.stats.AcceptErrors.Add(1)
		l.acceptor.complain("connection dropped: cannot add it to an event loop", "remote_address", c.remote,
			"error", err)
	}
}

// loopOf returns the gnetLoop for one of gnet's event loops.
func (l *gnetListener) loopOf(events gnet.EventLoop) *gnetLoop {
	l.mu.Lock()
	defer l.mu.Unlock()
	loop := l.loops[events]
	if loop == nil {
		loop = newGnetLoop(events)
		l.loops[events] = loop
	}
	return loop
}
