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

// acceptor accepts TCP connections up to a limit. acceptor survives all operating system errors except the closing of
// its socket.
type acceptor struct {
	socket net.Listener
	limit  int64
	stats  *Stats
	logger *slog.Logger

	// closing ends when the acceptor should end.
	closing context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	// complained is when a refusal or an error was last logged, in nanoseconds since 1970.
	complained atomic.Int64
}

// newAcceptor opens addr. Zero values mean the defaults: a limit derived from the file descriptor limit, a new Stats,
// the default logger.
func newAcceptor(addr string, limit int, stats *Stats, logger *slog.Logger) (*acceptor, error) {
	socket, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: %w; stop the process that uses the address, or "+
			"choose another port", addr, err)
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

// start passes all connections to take, possibly from several goroutines at once. Every closed connection must be
// released with release, because the limit counts open connections.
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
			a.complain("cannot accept new connections", "error", err)
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
			a.complain("connection rejected: too many "+
				"connections", "limit", a.limit, "remote_address", conn.RemoteAddr())
			_ = conn.Close()
			continue
		}
		a.stats.Accepted.Add(1)
		take(conn.(*net.TCPConn))
	}
}

// release decrements the connection count.
func (a *acceptor) release() {
	a.stats.Open.Add(-1)
}

// complain logs a refusal or an error, at most once per second.
func (a *acceptor) complain(message string, details ...any) {
	now, last := time.Now().UnixNano(), a.complained.Load()
	if now-last >= int64(time.Second) && a.complained.CompareAndSwap(last, now) {
		a.logger.Warn(message, append(details, "listener", a.socket.Addr())...)
	}
}

// close closes the socket. When close returns, no call of take is in progress, and none will follow.
func (a *acceptor) close() error {
	a.cancel()
	err := a.socket.Close()
	a.running.Wait()
	return err
}

// Stats counts the connections of one or more listeners. Listeners that share a Stats share a count, and so a limit.
// Safe for concurrent reads.
type Stats struct {
	// Open is the number of open connections, including those in a TLS handshake.
	Open atomic.Int64
	// Accepted is the total number of accepted connections.
	Accepted atomic.Int64
	// Refused is the number of connections closed immediately because Open was at the limit.
	Refused atomic.Int64
	// AcceptErrors is the number of failed accepts, for example because the process has no file descriptor left.
	AcceptErrors atomic.Int64
	// FailedHandshakes is the number of connections whose TLS handshake failed.
	FailedHandshakes atomic.Int64
	// EvictedHandshakes is the number of failed handshakes closed by the listener: the peer was silent, and a new
	// connection needed the slot.
	EvictedHandshakes atomic.Int64
}
