package ydb

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Auth_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/signalbox/signalbox/internal/fairshare"
)

// Gateway serves YDB's SDKs. A Gateway is safe for concurrent use.
type Gateway struct {
	Ydb_Coordination_V1.UnimplementedCoordinationServiceServer
	Ydb_Discovery_V1.UnimplementedDiscoveryServiceServer
	Ydb_Scheme_V1.UnimplementedSchemeServiceServer
	Ydb_Auth_V1.UnimplementedAuthServiceServer

	config   Config
	timing   timing
	tickets  tickets
	draining atomic.Bool
	drained  chan struct{} // closed when sessions are to end
	once     sync.Once

	publication *publication // nil for none
	backlog     backlog

	// connections, arrivals and sessions divide scarce resources: connections, calls being admitted, and streams with a
	// session.
	connections, arrivals, sessions *fairshare.Pool

	counts counts
}

// New returns a Gateway.
func New(c Config) (*Gateway, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Gateway{
		config: c, timing: asYDB, tickets: newTickets(c.Open), drained: make(chan struct{}),
		backlog: backlog{limit: c.MaxQueuedBytes}, connections: fairshare.NewPool(int64(c.MaxConnections)),
		arrivals: fairshare.NewPool(maxArriving), sessions: fairshare.NewFixedPool(int64(c.MaxStreams)),
	}, nil
}

// maxMessageBytes is the largest SDK message: data up to the hosts' maximum limit, plus the other fields.
const maxMessageBytes = 1<<20 + 64<<10

// Amounts that a client may send ahead of the gateway's reading, per stream and per connection.
const (
	streamWindowBytes = 64 << 10
	connWindowBytes   = 1 << 20
)

const (
	// maxConnStreams is the maximum number of concurrent calls per connection.
	maxConnStreams = 1000
	// maxHeaderBytes is the maximum size of a call's headers.
	maxHeaderBytes = 32 << 10
	// handshakeTimeout is the time limit for starting HTTP/2 on a connection, after any TLS handshake.
	handshakeTimeout = 5 * time.Second
)

// ServerOptions returns the required options for a Gateway's gRPC server, which serves a Gateway's Listener.
func (g *Gateway) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.InTapHandle(g.arrive), grpc.ChainUnaryInterceptor(unary), grpc.ChainStreamInterceptor(streaming),
		grpc.MaxConcurrentStreams(maxConnStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes), grpc.ConnectionTimeout(handshakeTimeout),
		grpc.SharedWriteBuffer(true),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		// Messages are small: measuring a connection's capacity would cost a ping per message batch.
		grpc.StaticStreamWindowSize(streamWindowBytes), grpc.StaticConnWindowSize(connWindowBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: 5 * time.Second, PermitWithoutStream: true,
		}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
	}
}

// Register makes a server answer the calls.
func (g *Gateway) Register(s grpc.ServiceRegistrar) {
	Ydb_Coordination_V1.RegisterCoordinationServiceServer(s, g)
	Ydb_Discovery_V1.RegisterDiscoveryServiceServer(s, g)
	Ydb_Scheme_V1.RegisterSchemeServiceServer(s, g)
	Ydb_Auth_V1.RegisterAuthServiceServer(s, g)
}

// Drain removes the gateway from its cluster's list, and then ends the open sessions: their SDKs reconnect to another
// gateway. Drain returns when the sessions have left or the context ends.
func (g *Gateway) Drain(ctx context.Context) error {
	g.draining.Store(true)
	g.publication.end(ctx)
	g.once.Do(func() { close(g.drained) })
	for {
		if g.sessions.Counts().Held == 0 {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close closes the cluster clients. The server must have been stopped.
func (g *Gateway) Close() {
	g.publication.end(context.Background())
	g.tickets.close()
}

// counts has a gateway's counters.
type counts struct {
	streams    atomic.Int64 // with a session
	refused    atomic.Int64 // refused a session
	late       atomic.Int64 // calls whose first message was late
	withheld   atomic.Int64 // closed because their lease was too short for sending
	overloaded atomic.Int64 // closed because their clients did not read
}

// WriteMetrics writes the gateway's metrics in Prometheus text format.
func (g *Gateway) WriteMetrics(w io.Writer) error {
	connections, arrivals, sessions := g.connections.Counts(), g.arrivals.Counts(), g.sessions.Counts()
	_, err := fmt.Fprintf(w, `# TYPE signalbox_ydb_connections gauge
signalbox_ydb_connections %d
# TYPE signalbox_ydb_connections_closed_total counter
signalbox_ydb_connections_closed_total %d
# TYPE signalbox_ydb_calls_arriving gauge
signalbox_ydb_calls_arriving %d
# TYPE signalbox_ydb_calls_rejected_total counter
signalbox_ydb_calls_rejected_total{reason="first_message"} %d
signalbox_ydb_calls_rejected_total{reason="arriving"} %d
signalbox_ydb_calls_rejected_total{reason="sessions"} %d
# TYPE signalbox_ydb_sessions gauge
signalbox_ydb_sessions %d
# TYPE signalbox_ydb_sessions_rejected_total counter
signalbox_ydb_sessions_rejected_total %d
# TYPE signalbox_ydb_sessions_displaced_total counter
signalbox_ydb_sessions_displaced_total %d
# TYPE signalbox_ydb_streams_backpressure_total counter
signalbox_ydb_streams_backpressure_total %d
# TYPE signalbox_ydb_streams_overloaded_total counter
signalbox_ydb_streams_overloaded_total %d
# TYPE signalbox_ydb_queued_bytes gauge
signalbox_ydb_queued_bytes %d
`, connections.Held, connections.Taken+connections.Refused, arrivals.Held, g.counts.late.Load(),
		arrivals.Taken+arrivals.Refused, sessions.Refused, g.counts.streams.Load(), g.counts.refused.Load(),
		sessions.Taken, g.counts.withheld.Load(), g.counts.overloaded.Load(), g.backlog.bytes.Load())
	return err
}

// Ready reports whether the gateway takes sessions.
func (g *Gateway) Ready() bool { return !g.draining.Load() }
