package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// DialFunc makes a connection to an address, which is one of those given to Open or one that a host told.
type DialFunc func(ctx context.Context, address string) (net.Conn, error)

var errOtherCluster = errors.New("it belongs to another cluster")

// dial makes a link to an address: a connection, TLS where it is wanted, HELLO and WELCOME. The link does
// not run yet.
func (c *Client) dial(ctx context.Context, address string) (*link, *welcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.dialTimeout,
		fmt.Errorf("no connection within %v", c.config.dialTimeout))
	defer cancel()
	conn, err := c.config.dial(ctx, address)
	if err != nil {
		return nil, nil, causeOr(ctx, err)
	}
	// Whatever the handshake waits for, it ends with the context.
	release := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	l, w, err := c.greet(ctx, conn, address)
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close() // it is given up
		return nil, nil, causeOr(ctx, err)
	}
	return l, w, nil
}

// causeOr returns why the context ended, if it did.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// greet says HELLO over a connection.
func (c *Client) greet(ctx context.Context, conn net.Conn, address string) (*link, *welcome, error) {
	_, buffers := conn.(*net.TCPConn)
	if c.config.tls != nil {
		secured := tls.Client(conn, tlsFor(c.config.tls, address))
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, nil, err
		}
		conn = secured
	}
	token, err := c.config.token(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("no token: %w", err)
	}
	encoder, out := protocol.NewEncoder(), new(bytebufferpool.ByteBuffer)
	encoder.Request(out, helloID, &protocol.Hello{
		VersionMin: protocol.MinVersion, VersionMax: protocol.MaxVersion,
		ClientName: []byte(c.config.name), ClientVersion: []byte(version()), Token: []byte(token),
		PushKinds: protocol.PushKinds(),
	})
	sent := c.clock.now()
	if _, err := conn.Write(out.B); err != nil {
		return nil, nil, err
	}
	from := newFrames(conn)
	w, err := readWelcome(from)
	if err != nil {
		return nil, nil, err
	}
	from.limit = int(w.limits.AnswerFrameBytes)
	out.Reset()
	l := &link{
		client: c, address: address, conn: conn, limits: w.limits, requests: w.requests,
		wake: make(chan struct{}, 1), down: make(chan struct{}), buffers: buffers,
		from: from, decoder: protocol.NewAnswerDecoder(),
		ticker: time.NewTicker(lentFor), returned: make(chan struct{}, 1),
		encoder: encoder, out: out, spare: new(bytebufferpool.ByteBuffer), lastID: helloID,
		handlers: make(map[uint64]handler), lives: make(map[uint64]*life),
	}
	l.ticker.Stop()
	w.sent = sent
	return l, w, nil
}

const helloID = 1

// welcome is what a host said of itself.
type welcome struct {
	hostID       uint64
	cluster      string
	limits       protocol.Limits
	requests     protocol.KindSet // of the second block of kinds, that the host answers
	pingInterval time.Duration
	sent         instant // when HELLO was sent
}

func readWelcome(from *frames) (*welcome, error) {
	payload, err := from.next()
	if err != nil {
		return nil, err
	}
	a, err := protocol.NewAnswerDecoder().Decode(payload)
	switch {
	case err != nil:
		return nil, err
	case a.Kind == protocol.KindGoingAway:
		return nil, errors.Join(errors.New("it goes away"), a.GoingAway.Result.Err())
	case a.Kind != protocol.KindHello.Answer() || a.ID != helloID:
		return nil, fmt.Errorf("it answered HELLO with %v", a.Kind)
	case a.Result.Status != protocol.StatusSuccess:
		return nil, a.Result.Err()
	}
	m := &a.Welcome
	w := &welcome{
		hostID: m.HostID, cluster: string(m.ClusterID), limits: m.Limits,
		requests: protocol.ReadKinds(&m.RequestKinds), pingInterval: millis(m.PingIntervalMillis),
	}
	defaults := protocol.FrameLimits(protocol.DefaultDataBytes)
	if w.limits.RequestFrameBytes == 0 {
		w.limits.RequestFrameBytes = defaults.RequestFrameBytes
	}
	if w.limits.AnswerFrameBytes == 0 {
		w.limits.AnswerFrameBytes = defaults.AnswerFrameBytes
	}
	if w.limits.RequestsInFlight == 0 {
		w.limits.RequestsInFlight = inFlightMax
	}
	return w, nil
}

// run lets the link live until it fails, or the client ends. It returns false where the client has ended.
func (l *link) run(w *welcome) bool {
	l.pulse.start(l, w.pingInterval, w.sent)
	unhook := context.AfterFunc(l.client.ctx, func() { l.fail(ErrClosed) })
	l.mu.Lock()
	l.unhook = unhook
	l.mu.Unlock()
	return l.client.spawn(l.write) && l.client.spawn(l.read)
}

// tlsFor names the host that the certificate must be for, where the config does not.
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

// dialTCP is the DialFunc of clients that were given none.
func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), DefaultPort)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// version is that of the module, for the host's listings.
func version() string {
	const module = "github.com/signalbox/signalbox"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "go"
	}
	v := info.Main.Version
	for _, d := range info.Deps {
		if d.Path == module {
			v = d.Version
		}
	}
	return "go/" + v
}

// millis is what a host says in milliseconds. What does not fit is for ever, or nearly.
func millis(n uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Millisecond)
	return time.Duration(min(n, most)) * time.Millisecond
}
