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

	"github.com/signalbox/signalbox/protocol"
)

// DialFunc makes a connection to an address, which is one of those given to Open or one that a host advertises.
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
	hooks       Hooks // nil for none
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
	for _, o := range options {
		o(&c)
	}
	c.name = c.name[:min(len(c.name), protocol.MaxClientNameBytes)]
	switch {
	case c.connections < 1:
		return c, fmt.Errorf("client: %d connections to a host: there must be at least one", c.connections)
	case c.dialTimeout <= 0:
		return c, errors.New("client: the dial timeout must be above zero")
	case c.dial == nil || c.token == nil || c.log == nil:
		return c, errors.New("client: an option was given nil")
	}
	return c, nil
}

// WithToken sets the token that lets the client in.
func WithToken(token string) Option {
	return WithTokenSource(func(context.Context) (string, error) { return token, nil })
}

// WithTokenSource sets where the token comes from. It is asked for each new connection, so that tokens can
// change while the client lives: a host that does not accept the old one any more closes the connection,
// and sessions and watches go on over the next one.
func WithTokenSource(source func(ctx context.Context) (string, error)) Option {
	return func(c *config) { c.token = source }
}

// WithTLS makes the client speak TLS. Where the config has no ServerName, the certificate must be for the
// host part of the address.
func WithTLS(t *tls.Config) Option {
	if t == nil {
		return WithTLSSource(nil)
	}
	return WithTLSSource(func() *tls.Config { return t })
}

// WithTLSSource is WithTLS with a config that is asked for anew for each connection: so a program takes new
// certificates without a restart. Many goroutines may call the source.
func WithTLSSource(source func() *tls.Config) Option {
	return func(c *config) { c.tls = source }
}

// WithName sets the name under which hosts list and log the client; the program's by default.
func WithName(name string) Option {
	return func(c *config) { c.name = name }
}

// WithDialer makes connections in another way than TCP, such as in memory. It gets the addresses as they
// were given to Open, or as the hosts advertise them.
func WithDialer(dial DialFunc) Option {
	return func(c *config) { c.dial = dial }
}

// WithDialTimeout bounds the making of a connection; DefaultDialTimeout where it is not given.
func WithDialTimeout(d time.Duration) Option {
	return func(c *config) { c.dialTimeout = d }
}

// WithConnections sets how many connections to each host the client makes at the most. One is enough for
// many thousands of sessions; more let more cores take part where one goroutine that reads is not enough.
func WithConnections(perHost int) Option {
	return func(c *config) { c.connections = perHost }
}

// WithLogger lets the client log, at the debug level, which connections are made and lost, and which could not be made,
// and at the warning level a semaphore with another limit than was asked for, and a token that expires soon. Without it
// nothing is logged. States of sessions are for OnState, and for WithHooks.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) { c.log = log }
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

// What the client does where its user does not say otherwise, and what bounds it.
const (
	// DefaultPort is the port of an address that has none.
	DefaultPort = "7420"
	// DefaultSessionTimeout is the timeout of a session that is started without one.
	DefaultSessionTimeout = 10 * time.Second
	// MinSessionTimeout is the smallest timeout of a session, other than 0, with which a client can keep it alive over
	// the loss of a connection. Of the timeout a third passes between two pings, a quarter until one that is not
	// answered gives the connection away, and a tenth is margin. What is left must be enough for one try to attach
	// elsewhere, of 50 ms: that takes 158 ms. The rest is for pauses of the two processes: 50 ms for an answer to a
	// ping.
	MinSessionTimeout = 200 * time.Millisecond
	// DefaultDialTimeout bounds the making of a connection, up to the host's welcome.
	DefaultDialTimeout = 5 * time.Second

	// nodeGap is how long the id of a node is believed before a semaphore that is not found makes the
	// client ask whether the node is still the same.
	nodeGap = time.Second
	// farewellTime is how long Client.Close waits for its sessions to be ended at their hosts.
	farewellTime = time.Second
	// shortLived is how many sessions in a row may end soon after they began before a renewal pauses.
	shortLived = 3
	// describeTries is how often a description of several pages is begun anew because the semaphore
	// changed meanwhile.
	describeTries = 4
)
