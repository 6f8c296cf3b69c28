package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// Limits of the connections between hosts.
const (
	// maxConnections bounds the accepted connections: five for each possible host, and room for those that a restart
	// leaves behind.
	maxConnections   = 8 * MaxHosts
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	keepAlivePeriod  = 10 * time.Second
	// redialEvery is how often a host that does not answer is dialled, and redialFor for how long, before the engine
	// gets the error.
	redialEvery = 50 * time.Millisecond
	redialFor   = 3 * time.Second
	// acceptPause is how long accepting waits after an error, as when the process has no file descriptor left.
	acceptPause = 50 * time.Millisecond
)

// MaxHosts is how many hosts a cluster may have, for which there is room for connections.
const MaxHosts = 31

// Config is what a transport needs of its host.
type Config struct {
	Host       shard.HostID
	Members    map[shard.HostID]string // all hosts, with the addresses at which they reach each other
	Deployment uint64
	// Secret is shared by all hosts; frames have a MAC where it is set.
	Secret []byte
	// Listener is where other hosts connect; nil: none can.
	Listener net.Listener
	TLS      *TLSConfigs // nil: plain TCP
	// Runs reports whether a shard runs on this host.
	Runs func(shardID uint64) bool
	// Received is called, if set, with the messages of a peer before the engine gets them, and Sending with those for a
	// peer before they are sent. Both may change them.
	Received, Sending func([]raftpb.Message)
	// Takes reports, if set, whether this host takes the next part of a shard's log, or of a snapshot, whose whole size
	// it gets where this is the beginning of one. What it does not take is dropped.
	Takes func(shardID, snapshot uint64) bool
	// Refused is called, if set, for everything that is kept from the engine. It must not block.
	Refused func(Refusal)
	Logger  *slog.Logger
}

// transport sends and receives the engine's messages between hosts. The engine calls Start and Close once each, and
// dials from goroutines of its own.
type transport struct {
	config     *Config
	refusals   *refusals
	onMessages raftio.MessageHandler
	onChunk    raftio.ChunkHandler
	redialFor  time.Duration

	running sync.WaitGroup

	mu       sync.Mutex
	accepted map[net.Conn]struct{} // guarded by mu, as is closed
	closed   bool
}

// Factory makes the transport when the engine asks for it. It implements config.TransportFactory.
type Factory struct {
	Config
}

// Create is called once by the engine.
func (f *Factory) Create(_ config.NodeHostConfig, messages raftio.MessageHandler,
	chunks raftio.ChunkHandler) raftio.ITransport {
	return &transport{
		config: &f.Config, refusals: &refusals{config: &f.Config},
		onMessages: messages, onChunk: chunks, redialFor: redialFor, accepted: make(map[net.Conn]struct{}),
	}
}

// Validate is called by the engine for every address that it is given.
func (*Factory) Validate(address string) bool { return ValidateAddress(address) == nil }

// ValidateAddress returns an error that says what is wrong with an address, host:port, if something is.
func ValidateAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > math.MaxUint16 {
		return fmt.Errorf("address %q: want a port from 1 to %d", address, math.MaxUint16)
	}
	if host == "" {
		return fmt.Errorf("address %q: want a host name or an IP address before the port", address)
	}
	return nil
}

// Name is the name of the transport in the engine's log.
func (*transport) Name() string { return "signalbox" }

// Start accepts connections of other hosts from now on.
func (t *transport) Start() error {
	if t.config.Listener != nil {
		t.running.Go(t.accept)
	}
	return nil
}

// Close ends the connections that other hosts opened. The engine closes those that it dialled. It returns no error,
// because the engine would stop the process for one.
func (t *transport) Close() error {
	if t.config.Listener == nil {
		return nil
	}
	if err := t.config.Listener.Close(); err != nil {
		t.config.Logger.Error("stop listening for other hosts", "error", err)
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
		conn, err := t.config.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.config.Logger.Error("accept a connection of another host", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		if err := t.add(conn); err != nil {
			t.config.Logger.Warn("turned away a connection of another host", "remote", conn.RemoteAddr(), "error", err)
			conn.Close()
			continue
		}
		t.running.Go(func() {
			defer t.remove(conn)
			t.refusals.reportEnd(t.serve(conn), conn.RemoteAddr().String())
		})
	}
}

func (t *transport) add(conn net.Conn) error {
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

func (t *transport) remove(conn net.Conn) {
	conn.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.accepted, conn)
}

// serve passes the frames of a connection to the engine until the connection ends, and returns why it ended.
func (t *transport) serve(conn net.Conn) error {
	if t.config.TLS != nil {
		secured := tls.Server(conn, t.config.TLS.server)
		if err := handshake(context.Background(), secured); err != nil {
			return err
		}
		conn = secured
	}
	peer, mac, err := greetAsAcceptor(context.Background(), conn, t.config)
	if err != nil {
		return refuse(RefusedHandshake, "handshake: %w", err)
	}
	frames := newFrameReader(conn, mac)
	var dropping bool
	for {
		kind, payload, err := frames.next()
		if err == nil {
			err = t.handle(peer, kind, payload, &dropping)
		}
		if err != nil {
			return err
		}
	}
}

// unexpected returns nil for the normal end of a connection.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// handle passes a frame to the engine. Once a chunk of a snapshot was not taken, the rest that comes over the same
// connection is dropped too.
func (t *transport) handle(peer shard.HostID, kind byte, payload []byte, dropping *bool) error {
	switch kind {
	case frameMessages:
		var batch raftpb.MessageBatch
		if err := batch.Unmarshal(payload); err != nil {
			return refuse(RefusedFrame, "message batch: %w", err)
		}
		if err := t.admitBatch(peer, &batch); err != nil {
			return err
		}
		if len(batch.Requests) > 0 {
			if t.config.Received != nil {
				t.config.Received(batch.Requests)
			}
			t.onMessages(batch)
		}
	case frameChunk:
		var chunk raftpb.Chunk
		if err := chunk.Unmarshal(payload); err != nil {
			return refuse(RefusedFrame, "snapshot chunk: %w", err)
		}
		if err := t.admitChunk(peer, &chunk); err != nil {
			return err
		}
		if *dropping = *dropping || !t.takesChunk(&chunk); *dropping {
			t.refusals.count(RefusedFull)
			return nil
		}
		if !t.onChunk(chunk) {
			return errors.New("snapshot chunk: refused")
		}
	}
	return nil
}

// GetConnection dials another host, and repeats that for a while where it does not answer. After an error the engine
// does not dial for up to a second and a half, which is too long for a host that has just started again and is needed
// in an election.
func (t *transport) GetConnection(ctx context.Context, target string) (raftio.IConnection, error) {
	until := time.Now().Add(t.redialFor)
	for {
		s, err := t.dial(ctx, target)
		if err == nil {
			s.redial = func() (net.Conn, error) {
				again, err := t.dial(ctx, target)
				if err != nil {
					return nil, err
				}
				s.mac = again.mac
				return again.conn, nil
			}
			return s, nil
		}
		if time.Now().After(until) || errors.Is(err, errRefused) {
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
	if t.config.TLS != nil {
		secured := tls.Client(conn, t.config.TLS.clientFor(target))
		if err := handshake(ctx, secured); err != nil {
			conn.Close()
			return nil, err
		}
		conn = secured
	}
	mac, err := greetAsDialer(ctx, conn, t.config)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("host at %s: %w", target, err)
	}
	return &sender{conn: conn, mac: mac, sending: t.config.Sending}, nil
}

func handshake(ctx context.Context, conn *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	return nil
}
