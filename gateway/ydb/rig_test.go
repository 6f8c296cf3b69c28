package ydb_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/server/servertest"
)

// database is the database in the SDKs' requests.
const database = "/local"

// rig is a cluster with a gateway.
type rig struct {
	t *testing.T
	// heedPings: gateways end streams of clients that do not answer pings.
	heedPings bool
	ticket    string // that calls show
	// For gateways started later: whether callers seem to be elsewhere, whether tickets are accepted from there, and
	// the place in the cluster's list.
	elsewhere, plainTickets bool
	published               string
	sessions                int           // of all; 0 for the default
	connections             int           // of all; 0 for the default
	queued                  int64         // waiting bytes of all; 0 for the default
	stallAfter              time.Duration // of a client that does not read; 0 for never
	// through wraps later gateways' connections to hosts; nil for no wrapping.
	through    func(func(context.Context, string) (net.Conn, error)) func(context.Context, string) (net.Conn, error)
	discovered chan struct{} // gets a value for each discovery request, while there is room
	cluster    *servertest.Cluster
	gateway    *ydb.Gateway
	server     *grpc.Server
	address    string
}

// newRig starts a cluster of n hosts, and a gateway.
func newRig(t *testing.T, hosts int) *rig {
	t.Helper()
	return newRigOf(t, servertest.Hosts(hosts), servertest.Shards(2))
}

// newRigOf starts a cluster by options, and a gateway.
func newRigOf(t *testing.T, options ...servertest.Option) *rig {
	t.Helper()
	r := &rig{
		t: t, cluster: servertest.Start(t, options...),
		discovered: make(chan struct{}, 10),
	}
	r.serve()
	return r
}

// serve starts a gateway, the rig's gateway from now on.
func (r *rig) serve() {
	t := r.t
	t.Helper()
	dial := r.cluster.Dial
	if r.through != nil {
		dial = r.through(dial)
	}
	open := func(ctx context.Context, token string) (*client.Client, error) {
		return client.Open(ctx, r.cluster.Addresses(), client.WithDialer(dial), client.WithToken(token))
	}
	g, err := ydb.New(ydb.Config{
		Open: open, PlainTickets: r.plainTickets, MaxStreams: r.sessions, MaxConnections: r.connections,
		MaxQueuedBytes: r.queued,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.BePatient(r.heedPings, r.stallAfter)
	r.gateway, r.address = g, l.Addr().String()
	if r.elsewhere {
		l = remote{l}
	}
	if r.published != "" {
		g.Publish(ydb.Endpoint{Address: r.published, Port: 2136, Location: "in-" + r.published}, r.ticket)
	}
	r.server = grpc.NewServer(append(g.ServerOptions(), grpc.UnaryInterceptor(r.count))...)
	g.Register(r.server)
	done := make(chan struct{})
	server := r.server
	go func() {
		defer close(done)
		_ = server.Serve(g.Listener(l)) // it ends with Stop
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
		g.Close()
	})
}

// count counts requests.
func (r *rig) count(
	ctx context.Context, m any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	if info.FullMethod == Ydb_Discovery_V1.DiscoveryService_ListEndpoints_FullMethodName {
		select {
		case r.discovered <- struct{}{}:
		default:
		}
	}
	return handler(ctx, m)
}

// remote is a listener whose callers seem to be on another machine.
type remote struct{ net.Listener }

// Accept implements net.Listener.
func (r remote) Accept() (net.Conn, error) {
	c, err := r.Listener.Accept()
	return remoteConn{c}, err
}

type remoteConn struct{ net.Conn }

// RemoteAddr implements net.Conn.
func (remoteConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4711} }

// dial connects to the gateway.
func (r *rig) dial() *grpc.ClientConn {
	r.t.Helper()
	c, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// limit bounds the wait for an event that must come, on any machine.
const limit = time.Minute
