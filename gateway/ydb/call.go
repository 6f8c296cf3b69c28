package ydb

import (
	"cmp"
	"context"
	"net"
	"strings"
	"sync/atomic"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/signalbox/signalbox/protocol"
)

// call is who calls, and from where.
type call struct {
	ticket   string
	database string
	address  string // without the port
	local    bool   // it comes from this machine
	program  string // what the SDK says of itself, and the process
	from     *clientAddr
}

// callOf reads what a call says of its caller, and refuses a ticket that others could read on its way.
func (g *Gateway) callOf(ctx context.Context) (c call, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	first := func(name string) string {
		if v := md.Get(name); len(v) > 0 {
			return v[0]
		}
		return ""
	}
	c = call{
		ticket: first("x-ydb-auth-ticket"), database: strings.TrimSuffix(pathOf(first("x-ydb-database")), "/"),
		program: programOf(first("x-ydb-sdk-build-info"), first("x-ydb-client-pid")),
	}
	if p, ok := peer.FromContext(ctx); ok {
		c.from, _ = p.Addr.(*clientAddr)
		host, _, err := net.SplitHostPort(p.Addr.String())
		if err != nil {
			host = p.Addr.String()
		}
		c.address = host
		ip := net.ParseIP(host)
		c.local = ip != nil && ip.IsLoopback()
	}
	return c, g.maySend(&c, c.ticket)
}

// maxClaimBytes is how much of a header is shown of what a program says of itself.
const maxClaimBytes = 64

// programOf is what a program says of itself, for people.
func programOf(sdk, process string) string {
	clean := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, s)
		return s[:min(len(s), maxClaimBytes)]
	}
	program := cmp.Or(clean(sdk), "a program")
	if process = clean(process); process != "" {
		program += ", process " + process
	}
	return program
}

// describe adds to the description of a session whose it is. Hosts show the gateway's address for that of the session's
// client, since it is what they see; what a gateway or a program says is where every client says what it likes.
func (c *call) describe(description string) string {
	whose := c.program + ", at " + c.address
	if description != "" {
		whose = description + " (" + whose + ")"
	}
	if len(whose) > protocol.MaxDescriptionBytes {
		return description
	}
	return whose
}

// maySend refuses a ticket that others could read on its way.
func (g *Gateway) maySend(c *call, ticket string) error {
	if ticket == "" || g.config.Secure || g.config.PlainTickets || c.local {
		return nil
	}
	return &failed{Ydb.StatusIds_UNAUTHORIZED, "a ticket came over a connection without TLS"}
}

// pathOf is a path as the cluster has it: of all its ways to be written with more slashes, or one less, YDB makes one.
func pathOf(p string) string {
	return "/" + strings.Join(strings.FieldsFunc(p, func(r rune) bool { return r == '/' }), "/")
}

// below returns whether a path lies below the database of the call. A call that names none reaches all.
func (c *call) below(path string) bool {
	return c.database == "" || strings.HasPrefix(path, c.database+"/") && len(path) > len(c.database)+1
}

// withTimeout bounds a call by what its operation's params say.
func withTimeout(
	ctx context.Context, p *Ydb_Operations.OperationParams,
) (context.Context, context.CancelFunc) {
	if d := p.GetOperationTimeout(); d != nil && d.AsDuration() > 0 {
		return context.WithTimeout(ctx, d.AsDuration())
	}
	return context.WithCancel(ctx)
}

// Listener makes connections known to the gateway: it sees there whether a stream ended because its client cancelled
// it, or because the connection was lost.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &clientConn{Conn: c, address: &clientAddr{Addr: c.RemoteAddr(), conn: c}}, nil
}

// clientAddr is the address of a client, and whether its connection is lost.
type clientAddr struct {
	net.Addr
	conn net.Conn
	lost atomic.Bool
}

// close closes the connection, with all that goes over it.
func (a *clientAddr) close() { _ = a.conn.Close() }

// clientConn notes that nothing can be read any more before the server learns of it.
type clientConn struct {
	net.Conn
	address *clientAddr
}

// Read implements net.Conn.
func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.address.lost.Store(true)
	}
	return n, err
}

// RemoteAddr implements net.Conn.
func (c *clientConn) RemoteAddr() net.Addr { return c.address }
