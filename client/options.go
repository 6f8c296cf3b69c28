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

// WithToken sets the authentication token.
func WithToken(token string) Option {
	return WithTokenSource(func(context.Context) (string, error) { return token, nil })
}

// WithTokenSource sets a token source, which is called for each new connection. Tokens can therefore change while the
// client runs: when a host no longer accepts the old token, it closes the connection, and sessions and watches continue
// over the next connection.
func WithTokenSource(source func(ctx context.Context) (string, error)) Option {
	return func(c *config) { c.token = source }
}

// WithTLS enables TLS. If the config has no ServerName, the certificate must match the address's host part.
func WithTLS(t *tls.Config) Option {
	if t == nil {
		return WithTLSSource(nil)
	}
	return WithTLSSource(func() *tls.Config { return t })
}

// WithTLSSource is WithTLS with a source that is called for each connection, so a program can use new certificates
// without a restart. The source is called concurrently.
func WithTLSSource(source func() *tls.Config) Option {
	return func(c *config) { c.tls = source }
}

// WithName sets the client name that hosts list and log. Default: the program name.
func WithName(name string) Option {
	return func(c *config) { c.name = name }
}

// WithDialer replaces TCP, for example by in-memory connections. The dialer gets each address as passed to Open or as
// advertised by a host.
func WithDialer(dial DialFunc) Option {
	return func(c *config) { c.dial = dial }
}

// WithDialTimeout sets the connection timeout. Default: DefaultDialTimeout.
func WithDialTimeout(d time.Duration) Option {
	return func(c *config) { c.dialTimeout = d }
}

// WithConnections sets the maximum number of connections per host. A single connection is enough for many thousands of
// sessions. More connections use more cores, if the goroutine that reads a connection becomes the bottleneck.
func WithConnections(perHost int) Option {
	return func(c *config) { c.connections = perHost }
}

// WithLogger sets a logger. At debug level the client logs established, lost and failed connections; at warning level
// it logs differing semaphore limits and tokens that expire soon. Default: no logging. For session states, use OnState
// or WithHooks.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) { c.log = log }
}

// dialTCP is the default DialFunc.
func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), DefaultPort)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// version is the module version, for host listings.
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

// Defaults and limits.
const (
	// DefaultPort is the port for addresses without a port.
	DefaultPort = "7420"
	// DefaultSessionTimeout is the default session timeout.
	DefaultSessionTimeout = 10 * time.Second
	// MinSessionTimeout is the smallest nonzero session timeout with which a client can keep the session alive after
	// losing a connection. A third of the timeout may pass until the next ping, a quarter until an unanswered ping
	// closes the connection, and a tenth is margin. The remaining 31 % must suffice for a 50 ms attempt to attach to
	// another host, which requires a timeout of at least 158 ms. 200 ms also tolerate process pauses: 50 ms for a
	// ping's answer.
	MinSessionTimeout = 200 * time.Millisecond
	// DefaultDialTimeout bounds establishing a connection, up to the host's welcome.
	DefaultDialTimeout = 5 * time.Second

	// nodeGap is how long a node id is trusted. Later, if a semaphore is not found, the client checks whether the node
	// is still the same.
	nodeGap = time.Second
	// farewellTime is how long Client.Close waits for the sessions to be ended at their hosts.
	farewellTime = time.Second
	// shortLived is how many sessions in a row may end soon after their beginning before a renewal pauses.
	shortLived = 3
	// describeTries is how often a description with several pages is restarted because the semaphore changed meanwhile.
	describeTries = 4
)
