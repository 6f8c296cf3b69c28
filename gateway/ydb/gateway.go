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

	mu        sync.Mutex // guards what follows
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

// maxMessageBytes is what SDKs send at the most: data of the largest limit of hosts, and the rest of a message.
const maxMessageBytes = 1<<20 + 64<<10

// How much a client may send before the gateway has read it, over one stream and over one connection.
const (
	streamWindowBytes = 64 << 10
	connWindowBytes   = 1 << 20
)

// ServerOptions are those that a gRPC server of a Gateway needs.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		// Messages are small: to measure what a connection could bear would cost a ping for each batch of them.
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

// Drain takes the gateway from its cluster's list, and then ends the sessions that are there: their SDKs come back to
// another gateway. It returns when they have left, or with the context.
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

// enter counts a stream of an address in, and returns false where there are too many.
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

// counts are what a gateway counts.
type counts struct {
	streams    atomic.Int64 // that have a session
	refused    atomic.Int64 // that were refused one
	withheld   atomic.Int64 // that were closed because their lease was too short to send over them
	overloaded atomic.Int64 // that were closed because their clients did not read
}

// WriteMetrics writes what the gateway counts, in the text form of Prometheus.
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
