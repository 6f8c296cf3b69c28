package raftlog

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// Limits of the connections between hosts.
const (
	// maxConnections bounds what other hosts, and strangers, may hold open: five for every host that may
	// be there, and room for those that a restart leaves behind.
	maxConnections   = 8 * MaxHosts
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	keepAlivePeriod  = 10 * time.Second
	// redialEvery is how often a host that is not there is dialled before the engine is told, redialFor
	// for how long.
	redialEvery = 50 * time.Millisecond
	redialFor   = 3 * time.Second
	// acceptPause is how long to wait when the process has no file descriptor to spare.
	acceptPause = 50 * time.Millisecond
)

// transport carries the engine's messages between hosts. It takes the place of the engine's own, for
// the reasons in DESIGN.md.
//
// The engine calls Start and Close once each, and dials from goroutines of its own.
type transport struct {
	listener   net.Listener
	tls        *tlsConfigs // nil: plain TCP
	members    map[shard.HostID]string
	deployment uint64
	followers  *followers
	logger     *slog.Logger
	onMessages raftio.MessageHandler
	onChunk    raftio.ChunkHandler

	running sync.WaitGroup

	mu       sync.Mutex
	accepted map[net.Conn]struct{} // guarded by mu, as is closed
	closed   bool
}

// transportFactory makes the transport when the engine asks for it.
type transportFactory struct {
	listener  net.Listener
	tls       *tlsConfigs
	members   map[shard.HostID]string
	followers *followers
	logger    *slog.Logger
}

// Create is called once by the engine.
func (f *transportFactory) Create(c config.NodeHostConfig, messages raftio.MessageHandler, chunks raftio.ChunkHandler) raftio.ITransport {
	return &transport{
		listener: f.listener, tls: f.tls, members: f.members, deployment: c.GetDeploymentID(),
		followers: f.followers, logger: f.logger,
		onMessages: messages, onChunk: chunks, accepted: make(map[net.Conn]struct{}),
	}
}

// Validate is asked about every address that the engine is given.
func (*transportFactory) Validate(address string) bool { return validateAddress(address) == nil }

// Name is what the engine logs.
func (*transport) Name() string { return "signalbox" }

// Start takes what other hosts send from now on.
func (t *transport) Start() error {
	t.running.Go(t.accept)
	return nil
}

// Close ends the connections that other hosts opened. The engine closes those that it dialled. It stops
// the process for an error, which none from here is worth.
func (t *transport) Close() error {
	if err := t.listener.Close(); err != nil {
		t.logger.Error("stop listening for other hosts", "error", err)
	}
	t.mu.Lock()
	t.closed = true
	for conn := range t.accepted {
		conn.Close()
	}
	t.mu.Unlock()
	t.running.Wait()
	return nil
}

func (t *transport) accept() {
	for {
		conn, err := t.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.logger.Error("accept a connection of another host", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		if err := t.admit(conn); err != nil {
			t.logger.Warn("turned away a connection of another host", "remote", conn.RemoteAddr(), "error", err)
			conn.Close()
			continue
		}
		t.running.Go(func() {
			defer t.leave(conn)
			if err := worry(t.serve(conn)); err != nil {
				t.logger.Warn("ended a connection of another host", "remote", conn.RemoteAddr(), "error", err)
			}
		})
	}
}

func (t *transport) admit(conn net.Conn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	if len(t.accepted) >= maxConnections {
		return fmt.Errorf("%d connections are open", maxConnections)
	}
	t.accepted[conn] = struct{}{}
	return nil
}

func (t *transport) leave(conn net.Conn) {
	conn.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.accepted, conn)
}

// serve hands on what a connection brings until it ends, and returns why.
func (t *transport) serve(conn net.Conn) error {
	if t.tls != nil {
		secured := tls.Server(conn, t.tls.server)
		if err := handshake(context.Background(), secured); err != nil {
			return err
		}
		conn = secured
	}
	frames := newFrameReader(conn)
	for {
		kind, payload, err := frames.next()
		if err == nil {
			err = t.handle(kind, payload)
		}
		if err != nil {
			return err
		}
	}
}

// worry returns nil for an end of a connection that is no cause for it.
func worry(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (t *transport) handle(kind byte, payload []byte) error {
	switch kind {
	case frameMessages:
		var batch raftpb.MessageBatch
		if err := batch.Unmarshal(payload); err != nil {
			return fmt.Errorf("message batch: %w", err)
		}
		if err := t.check(&batch); err != nil {
			return err
		}
		t.followers.note(batch.Requests)
		t.onMessages(batch)
	case frameChunk:
		var chunk raftpb.Chunk
		if err := chunk.Unmarshal(payload); err != nil {
			return fmt.Errorf("snapshot chunk: %w", err)
		}
		if !t.onChunk(chunk) {
			return errors.New("snapshot chunk: refused")
		}
	}
	return nil
}

// check keeps from the engine what a host with a wrong config sends: the engine stops the process when
// a host is not where it should be.
func (t *transport) check(batch *raftpb.MessageBatch) error {
	if batch.DeploymentId != t.deployment {
		return fmt.Errorf("host at %s is of deployment %d, this one of %d", batch.SourceAddress, batch.DeploymentId, t.deployment)
	}
	for i := range batch.Requests {
		from, to := batch.Requests[i].From, batch.Requests[i].To
		if known := t.members[shard.HostID(from)]; known != batch.SourceAddress {
			return fmt.Errorf("host %d says that its address is %q, here it is known as %q", from, batch.SourceAddress, known)
		}
		if to == 0 {
			return fmt.Errorf("host %d sent a message to nobody", from)
		}
	}
	return nil
}

// GetConnection dials another host, again and again for a while where it is not there: the engine, once
// told of an error, leaves the host alone for up to a second and a half, which a host that has just
// started again would miss in an election.
func (t *transport) GetConnection(ctx context.Context, target string) (raftio.IConnection, error) {
	until := time.Now().Add(redialFor)
	for {
		s, err := t.dial(ctx, target)
		if err == nil {
			s.redial = func() (net.Conn, error) {
				again, err := t.dial(ctx, target)
				if err != nil {
					return nil, err
				}
				return again.conn, nil
			}
			return s, nil
		}
		if time.Now().After(until) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(redialEvery):
		}
	}
}

// GetSnapshotConnection dials another host to send it a snapshot.
func (t *transport) GetSnapshotConnection(ctx context.Context, target string) (raftio.ISnapshotConnection, error) {
	return t.dial(ctx, target)
}

func (t *transport) dial(ctx context.Context, target string) (*sender, error) {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlivePeriod}
	conn, err := dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	if t.tls != nil {
		secured := tls.Client(conn, t.tls.clientFor(target))
		if err := handshake(ctx, secured); err != nil {
			conn.Close()
			return nil, err
		}
		conn = secured
	}
	return &sender{conn: conn}, nil
}

func handshake(ctx context.Context, conn *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	return nil
}
