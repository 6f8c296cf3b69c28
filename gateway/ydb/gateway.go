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
)

// Gateway answers the calls of YDB's SDKs. It is safe for use by many goroutines.
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

	mu        sync.Mutex // guards the next fields
	streams   int
	addresses map[string]int // streams by address

	counts counts
}

// New returns a Gateway.
func New(c Config) (*Gateway, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Gateway{
		config: c, timing: asYDB, tickets: tickets{open: c.Open, byTicket: make(map[string]*ticket)},
		drained: make(chan struct{}), addresses: make(map[string]int), backlog: backlog{limit: c.MaxQueuedBytes},
	}, nil
}

// maxMessageBytes is the largest message of SDKs: data up to the largest limit of hosts, and the rest of a message.
const maxMessageBytes = 1<<20 + 64<<10

// How much a client may send ahead of the gateway's reading, over a single stream and over a single connection.
const (
	streamWindowBytes = 64 << 10
	connWindowBytes   = 1 << 20
)

// ServerOptions are the options needed by the gRPC server of a Gateway.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		// Messages are small: measuring the capacity of a connection would cost a ping for every batch of messages.
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

// Drain takes the gateway from its cluster's list, and then ends the open sessions: their SDKs come back to another
// gateway. Drain returns when the sessions have left, or with the context.
func (g *Gateway) Drain(ctx context.Context) error {
	g.draining.Store(true)
	g.publication.end(ctx)
	g.once.Do(func() { close(g.drained) })
	for {
		g.mu.Lock()
		left := g.streams
		g.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close closes the clients of the cluster. The server must have been stopped.
func (g *Gateway) Close() {
	g.publication.end(context.Background())
	g.tickets.close()
}

// enter counts a stream of an address in, and returns false if there are too many streams.
func (g *Gateway) enter(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining.Load() || g.streams >= g.config.MaxStreams ||
		g.addresses[address] >= g.config.MaxStreamsPerAddress {
		return false
	}
	g.streams++
	g.addresses[address]++
	return true
}

func (g *Gateway) leave(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.streams--
	if g.addresses[address]--; g.addresses[address] == 0 {
		delete(g.addresses, address)
	}
}

// counts are the counters of a gateway.
type counts struct {
	streams    atomic.Int64 // with a session
	refused    atomic.Int64 // refused a session
	withheld   atomic.Int64 // closed because their lease was too short for sending
	overloaded atomic.Int64 // closed because their clients did not read
}

// WriteMetrics writes the metrics of the gateway, in the text form of Prometheus.
func (g *Gateway) WriteMetrics(w io.Writer) error {
	_, err := fmt.Fprintf(w, `# TYPE signalbox_ydb_sessions gauge
signalbox_ydb_sessions %d
# TYPE signalbox_ydb_sessions_refused_total counter
signalbox_ydb_sessions_refused_total %d
# TYPE signalbox_ydb_streams_withheld_total counter
signalbox_ydb_streams_withheld_total %d
# TYPE signalbox_ydb_streams_overloaded_total counter
signalbox_ydb_streams_overloaded_total %d
# TYPE signalbox_ydb_queued_bytes gauge
signalbox_ydb_queued_bytes %d
`, g.counts.streams.Load(), g.counts.refused.Load(), g.counts.withheld.Load(), g.counts.overloaded.Load(),
		g.backlog.bytes.Load())
	return err
}

// Ready reports whether the gateway takes sessions.
func (g *Gateway) Ready() bool { return !g.draining.Load() }
