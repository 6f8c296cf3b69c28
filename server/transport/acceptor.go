package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// acceptor accepts TCP connections and keeps their number below a limit. An acceptor outlives all errors of the
// operating system except the closing of its socket.
type acceptor struct {
	socket net.Listener
	limit  int64
	stats  *Stats
	logger *slog.Logger

	// closing ends when the acceptor is to end.
	closing context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	// complained is when a refusal or an error was logged last, in nanoseconds since 1970.
	complained atomic.Int64
}

// newAcceptor opens addr. A zero value stands for the default: a limit derived from the limit of file descriptors, a
// new Stats, the default logger.
func newAcceptor(addr string, limit int, stats *Stats, logger *slog.Logger) (*acceptor, error) {
	socket, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: %w: another process listens there; stop it or choose "+
			"another port", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	a := &acceptor{
		socket: socket, limit: int64(positive(limit, FileConnections())), stats: cmp.Or(stats, new(Stats)),
		logger: cmp.Or(logger, slog.Default()),
	}
	a.closing, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// start hands all connections to take, and several goroutines may call take at once. Every connection must be given
// up with release when the connection has gone, because the limit counts open connections.
func (a *acceptor) start(take func(*net.TCPConn)) {
	for range acceptors {
		a.running.Go(func() { a.run(take) })
	}
}

func (a *acceptor) run(take func(*net.TCPConn)) {
	var pause time.Duration
	for {
		conn, err := a.socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			a.stats.AcceptErrors.Add(1)
			pause = min(max(2*pause, 5*time.Millisecond), acceptPause)
			a.complain("cannot take new connections", "error", err)
			select {
			case <-a.closing.Done():
				return
			case <-time.After(pause):
			}
			continue
		}
		pause = 0
		if a.stats.Open.Add(1) > a.limit {
			a.release()
			a.stats.Refused.Add(1)
			a.complain("connection refused: too many", "limit", a.limit, "remote_address", conn.RemoteAddr())
			_ = conn.Close()
			continue
		}
		a.stats.Accepted.Add(1)
		take(conn.(*net.TCPConn))
	}
}

// release counts one connection less.
func (a *acceptor) release() {
	a.stats.Open.Add(-1)
}

// complain logs a refusal or an error, once a second at most.
func (a *acceptor) complain(message string, details ...any) {
	now, last := time.Now().UnixNano(), a.complained.Load()
	if now-last >= int64(time.Second) && a.complained.CompareAndSwap(last, now) {
		a.logger.Warn(message, append(details, "listener", a.socket.Addr())...)
	}
}

// close closes the socket; when it returns, take is not under way and will not be called.
func (a *acceptor) close() error {
	a.cancel()
	err := a.socket.Close()
	a.running.Wait()
	return err
}

// Stats counts the connections of one or more listeners. Listeners with a common Stats share a count, and so a limit.
// All goroutines may read a Stats at all times.
type Stats struct {
	// Open is the number of open connections, including connections in a TLS handshake.
	Open atomic.Int64
	// Accepted is the number of connections taken so far.
	Accepted atomic.Int64
	// Refused is the number of connections closed at once because Open was at the limit.
	Refused atomic.Int64
	// AcceptErrors is the number of times the operating system did not hand over a connection, as when the process
	// has no file descriptor left.
	AcceptErrors atomic.Int64
	// FailedHandshakes is the number of connections whose TLS handshake failed.
	FailedHandshakes atomic.Int64
	// EvictedHandshakes is the number of failed handshakes closed by the listener: the peer was silent, and a new
	// connection needed the room.
	EvictedHandshakes atomic.Int64
}
