package conn

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
)

const (
	helloID = 1
	// openMax is the default limit on unanswered requests per connection, if the host does not report a limit.
	openMax = 1024
	// smallWrite is a write size that fits every connection's empty buffer.
	smallWrite = 2 << 10
	// keptBuffer is the maximum size of an idle connection's buffer.
	keptBuffer = 64 << 10
)

// Config configures a client's connections. All fields except TLS are required.
type Config struct {
	Scope *lifecycle.Scope
	// Name and Version identify the client.
	Name, Version string
	Dial          func(ctx context.Context, address string) (net.Conn, error)
	Token         func(ctx context.Context) (string, error)
	// TLS returns the config for the next connection; nil disables TLS.
	TLS func() *tls.Config
	// Timeout bounds establishing a connection, up to the host's welcome.
	Timeout time.Duration
	// KeepToken prevents readers from lending their read tokens, for a benchmark that measures the effect.
	KeepToken bool
}

// Dialer establishes one client's connections.
type Dialer struct {
	config Config
	// calls belong to one client, because their channels may belong to a synctest bubble and must not be used outside
	// it.
	calls sync.Pool
}

// NewDialer returns a Dialer.
func NewDialer(config Config) *Dialer {
	d := &Dialer{config: config}
	d.calls.New = func() any { return &call{done: make(chan struct{}, 1)} }
	return d
}

// Dial opens a connection to an address: TCP, TLS if configured, HELLO and WELCOME. The caller must then call Run or
// Discard. taken is called when the host has accepted the TCP connection.
func (d *Dialer) Dial(ctx context.Context, address string, taken func()) (*Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.config.Timeout,
		fmt.Errorf("no connection within %v", d.config.Timeout))
	defer cancel()
	bare, err := d.config.Dial(ctx, address)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	taken()
	// The context's end aborts every handshake step.
	release := context.AfterFunc(ctx, func() { _ = bare.SetDeadline(time.Unix(1, 0)) })
	c, err := d.greet(ctx, bare, address)
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = bare.Close() // the connection is given up
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	return c, nil
}

// greet sends HELLO over a connection and reads the WELCOME.
func (d *Dialer) greet(ctx context.Context, conn net.Conn, address string) (*Conn, error) {
	_, buffers := conn.(syscall.Conn) // a system socket, wrapped or not
	if d.config.TLS != nil {
		secured := tls.Client(conn, tlsFor(d.config.TLS(), address))
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secured
	}
	token, err := d.config.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot get a token: %w", err)
	}
	encoder, out := protocol.NewEncoder(), new(bytebufferpool.ByteBuffer)
	encoder.Request(out, helloID, &protocol.Hello{
		VersionMin: protocol.MinVersion, VersionMax: protocol.MaxVersion,
		ClientName: []byte(d.config.Name), ClientVersion: []byte(d.config.Version), Token: []byte(token),
		PushKinds: protocol.PushKinds(),
	})
	sent := d.config.Scope.Now()
	if _, err := conn.Write(out.B); err != nil {
		return nil, err
	}
	from := newFrames(conn)
	w, err := readWelcome(from)
	if err != nil {
		return nil, err
	}
	w.helloSent = sent
	from.limit = int(w.limits.AnswerFrameBytes)
	out.Reset()
	return &Conn{
		dialer: d, address: address, conn: conn, welcome: w, token: newReadToken(),
		wake: make(chan struct{}, 1), down: make(chan struct{}), buffers: buffers,
		from: from, decoder: protocol.NewAnswerDecoder(),
		encoder: encoder, out: out, spare: new(bytebufferpool.ByteBuffer), lastID: helloID,
		handlers: make(map[uint64]Handler), sessions: make(map[uint64]Session),
	}, nil
}

// Welcome is what a host reports about itself.
type Welcome struct {
	HostID  uint64
	Cluster string
	// Generation counts how often the cluster was restored or recovered.
	Generation uint64
	// Since is for numbered requests.
	Since uint64
	// Principal is the token or certificate name that authenticated the client; empty for an anonymous client.
	Principal string

	limits       protocol.Limits
	requests     protocol.KindSet // kinds in the second block; the host may close the connection over others
	pingInterval time.Duration
	helloSent    lifecycle.Instant
}

// Knows reports whether the host supports requests with kind k.
func (c *Conn) Knows(k protocol.Kind) bool { return c.welcome.requests.Allows(k) }

// Welcome returns what the host reported about itself.
func (c *Conn) Welcome() *Welcome { return &c.welcome }

func readWelcome(from *frames) (w Welcome, err error) {
	payload, err := from.next()
	if err != nil {
		return w, err
	}
	a, err := protocol.NewAnswerDecoder().Decode(payload)
	switch {
	case err != nil:
		return w, err
	case a.Kind == protocol.KindGoingAway:
		return w, errors.Join(errors.New("the host is going away"), a.GoingAway.Result.Err())
	case a.Kind != protocol.KindHello.Answer() || a.ID != helloID:
		return w, fmt.Errorf("the host answered HELLO with %v", a.Kind)
	case a.Result.Status != protocol.StatusSuccess:
		return w, a.Result.Err()
	}
	m := &a.Welcome
	w = Welcome{
		HostID: m.HostID, Cluster: string(m.ClusterID), Generation: m.Generation, Since: m.Since, limits: m.Limits,
		requests: protocol.ReadKinds(&m.RequestKinds), Principal: string(m.Principal),
		pingInterval: Millis(m.PingIntervalMillis),
	}
	defaults := protocol.FrameLimits(protocol.DefaultDataBytes)
	w.limits.RequestFrameBytes = cmp.Or(w.limits.RequestFrameBytes, defaults.RequestFrameBytes)
	w.limits.AnswerFrameBytes = cmp.Or(w.limits.AnswerFrameBytes, defaults.AnswerFrameBytes)
	w.limits.RequestsInFlight = cmp.Or(w.limits.RequestsInFlight, openMax)
	return w, nil
}

// Run starts the connection's goroutines. If the client has ended, Run returns false, and the caller must call Fail.
func (c *Conn) Run(owner Owner) bool {
	s := c.dialer.config.Scope
	c.owner = owner
	c.pinger.start(c)
	unhook := context.AfterFunc(s.Context(), func() { c.Fail(lifecycle.ErrClosed) })
	c.mu.Lock()
	c.unhook = unhook
	c.mu.Unlock()
	return s.Go(c.write) && s.Go(c.read)
}

// tlsFor sets the server name that the certificate must match, if the config has none.
func tlsFor(config *tls.Config, address string) *tls.Config {
	if config.ServerName != "" {
		return config
	}
	config = config.Clone()
	config.ServerName = address
	if host, _, err := net.SplitHostPort(address); err == nil {
		config.ServerName = host
	}
	return config
}

// Millis converts a host's milliseconds. An overflowing number becomes the maximum duration.
func Millis(n uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Millisecond)
	return time.Duration(min(n, most)) * time.Millisecond
}
