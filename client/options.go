package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
)

// DialFunc makes a connection to an address, given to Open or advertised by a host.
type DialFunc func(ctx context.Context, address string) (net.Conn, error)

// Option sets how a Client works.
type Option func(*config)

type config struct {
	name        string
	token       func(context.Context) (string, error)
	tls         func() *tls.Config
	dial        DialFunc
	dialTimeout time.Duration
	connections int
	log         *slog.Logger
	hooks       Hooks // nil for no hooks
	keepToken   bool  // see conn.Config
}

func newConfig(options []Option) (config, error) {
	c := config{
		name:        filepath.Base(os.Args[0]),
		token:       func(context.Context) (string, error) { return "", nil },
		dial:        dialTCP,
		dialTimeout: DefaultDialTimeout,
		connections: 1,
		log:         slog.New(slog.DiscardHandler),
	}
	option.Apply(&c, options)
	c.name = c.name[:min(len(c.name), protocol.MaxClientNameBytes)]
	switch {
	case c.connections < 1:
		return c, fmt.Errorf("at least one connection per host is needed, not %d", c.connections)
	case c.dialTimeout <= 0:
		return c, errors.New("the dial timeout must be above zero")
	case c.dial == nil || c.token == nil || c.log == nil:
		return c, errors.New("an option is nil")
	}
	return c, nil
}

// WithToken sets the token that lets the client in.
func WithToken(token string) Option {
	return WithTokenSource(func(context.Context) (string, error) { return token, nil })
}

// WithTokenSource sets the source of the token. The source is asked for each new connection, so that tokens can change
// while the client runs: a host that does not accept the old token any more closes the connection, and sessions and
// watches go on over the next connection.
func WithTokenSource(source func(ctx context.Context) (string, error)) Option {
	return func(c *config) { c.token = source }
}

// WithTLS makes the client speak TLS. If the config has no ServerName, the certificate must be for the host part of
// the address.
func WithTLS(t *tls.Config) Option {
	if t == nil {
		return WithTLSSource(nil)
	}
	return WithTLSSource(func() *tls.Config { return t })
}

// WithTLSSource is WithTLS with a source of configs that is asked anew for each connection, so that a program takes
// new certificates without a restart. Many goroutines may call the source.
func WithTLSSource(source func() *tls.Config) Option {
	return func(c *config) { c.tls = source }
}

// WithName sets the name under which hosts list and log the client; the default is the name of the program.
func WithName(name string) Option {
	return func(c *config) { c.name = name }
}

// WithDialer makes connections in another way than by TCP, for example in memory. The dialer gets every address as it
// was given to Open, or as a host advertises it.
func WithDialer(dial DialFunc) Option {
	return func(c *config) { c.dial = dial }
}

// WithDialTimeout bounds the making of a connection; the default is DefaultDialTimeout.
func WithDialTimeout(d time.Duration) Option {
	return func(c *config) { c.dialTimeout = d }
}

// WithConnections sets how many connections to each host the client makes at most. A single connection is enough for
// many thousands of sessions; with more connections more cores take part, if the one goroutine that reads is not
// enough.
func WithConnections(perHost int) Option {
	return func(c *config) { c.connections = perHost }
}

// WithLogger lets the client log. At the debug level the client logs which connections are made, are lost, or could
// not be made; at the warning level a semaphore with a limit other than the caller asked for, and a token that expires
// soon. Without a logger nothing is logged. States of sessions are for OnState, and for WithHooks.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) { c.log = log }
}

// dialTCP is the DialFunc of clients without WithDialer.
func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), DefaultPort)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// version is the version of the module, for the listings of hosts.
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

// What the client does by default, and the bounds of its work.
const (
	// DefaultPort is the port of an address without a port.
	DefaultPort = "7420"
	// DefaultSessionTimeout is the timeout of a session that is started without a SessionTimeout.
	DefaultSessionTimeout = 10 * time.Second
	// MinSessionTimeout is the smallest timeout of a session, other than 0, with which a client can keep the session
	// alive over the loss of a connection. Of the timeout a third passes between two pings, a quarter until a ping
	// without an answer gives the connection away, and a tenth is margin. The remainder must be enough for one try to
	// attach elsewhere, of 50 ms: a timeout of 158 ms leaves as much. The rest is for pauses of the two processes: 50
	// ms for an answer to a ping.
	MinSessionTimeout = 200 * time.Millisecond
	// DefaultDialTimeout bounds the making of a connection, up to the host's welcome.
	DefaultDialTimeout = 5 * time.Second

	// nodeGap is how long the id of a node is believed. After a longer time a semaphore that is not found makes the
	// client ask whether the node is still the same.
	nodeGap = time.Second
	// farewellTime is how long Client.Close waits for the sessions to be ended at their hosts.
	farewellTime = time.Second
	// shortLived is how many sessions in a row may end soon after their beginning before a renewal pauses.
	shortLived = 3
	// describeTries is how often a description of several pages is begun anew because the semaphore changed meanwhile.
	describeTries = 4
)
