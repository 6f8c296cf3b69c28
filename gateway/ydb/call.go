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

// call is the caller of a request, with its origin.
type call struct {
	ticket   string
	database string
	address  string // without the port
	local    bool   // the call comes from this machine
	program  string // the program in the SDK's own words, with the process
	from     *clientAddr
}

// callOf reads the caller from a call's metadata, and refuses a ticket that others could read on its way.
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
		c.local = net.ParseIP(host).IsLoopback()
	}
	return c, g.maySend(&c, c.ticket)
}

// maxClaimBytes is how much of a header with a program's own words is shown.
const maxClaimBytes = 64

// programOf returns a program's own words about itself, for people.
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

// describe adds the program and its address to the description of a session. Hosts see the address of the gateway,
// and show it as the address of the session's client. The words of a gateway or a program belong into the
// description, the field that every client fills as it likes.
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

// maySend refuses a ticket that strangers could read on its way.
func (g *Gateway) maySend(c *call, ticket string) error {
	if ticket == "" || g.config.Secure || g.config.PlainTickets || c.local {
		return nil
	}
	return &failed{Ydb.StatusIds_UNAUTHORIZED, "a ticket came over a connection without TLS"}
}

// pathOf returns a path in the form of the cluster: YDB accepts additional slashes, and a missing first slash.
func pathOf(p string) string {
	return "/" + strings.Join(strings.FieldsFunc(p, func(r rune) bool { return r == '/' }), "/")
}

// below returns whether a path lies below the database of the call. A call without a database reaches all paths.
func (c *call) below(path string) bool {
	return c.database == "" || strings.HasPrefix(path, c.database+"/") && len(path) > len(c.database)+1
}

// withTimeout bounds a call by the params of its operation.
func withTimeout(
	ctx context.Context, p *Ydb_Operations.OperationParams,
) (context.Context, context.CancelFunc) {
	if d := p.GetOperationTimeout(); d != nil && d.AsDuration() > 0 {
		return context.WithTimeout(ctx, d.AsDuration())
	}
	return context.WithCancel(ctx)
}

// Listener makes connections known to the gateway: so the gateway sees whether a stream ended because the client
// cancelled the stream, or because the connection was lost.
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

// clientAddr is the address of a client, with the state of the connection.
type clientAddr struct {
	net.Addr
	conn net.Conn
	lost atomic.Bool
}

// close closes the connection, with all its streams.
func (a *clientAddr) close() { _ = a.conn.Close() }

// clientConn notes the loss of the connection before the server learns of the loss.
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
