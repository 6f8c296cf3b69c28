package ydb

import (
	"context"
	"errors"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/signalbox/signalbox/internal/fairshare"
)

const (
	// firstMessageTimeout is the time limit for a call's first message.
	firstMessageTimeout = 5 * time.Second
	// maxArriving is the maximum number of calls being admitted: until their first message has arrived and hosts have
	// accepted their ticket.
	maxArriving = 10_000
)

// Reasons for ending a call before admission.
var (
	errLate    = errors.New("the first message did not come within " + firstMessageTimeout.String())
	errCrowded = &failed{Ydb.StatusIds_OVERLOADED, "too many calls wait to be admitted"}
)

// arrival is a call that is not admitted yet. It ends if its first message is late, or if another party needs its slot.
type arrival struct {
	gateway *Gateway
	place   *fairshare.Unit
	late    *time.Timer
}

type arrivalKey struct{}

// arrive admits a call to the gateway, before the server creates a stream. The context ends the call.
func (g *Gateway) arrive(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, end := context.WithCancelCause(ctx)
	a := &arrival{gateway: g, place: g.arrivals.Unit(1, func() { end(errCrowded) })}
	if !a.place.Assign(g.caller(ctx), fairshare.Arriving) {
		end(nil)
		return nil, status.Error(codes.ResourceExhausted, errCrowded.message)
	}
	a.late = time.AfterFunc(firstMessageTimeout, func() {
		g.counts.late.Add(1)
		end(errLate)
	})
	context.AfterFunc(ctx, a.over)
	return context.WithValue(arrivalContext{ctx}, arrivalKey{}, a), nil
}

// arrivalContext is a call's context. For a call that ends without a message, the server derives the status from Err:
// CANCELLED would mean that the client has ended the call.
type arrivalContext struct{ context.Context }

// Err implements context.Context.
func (c arrivalContext) Err() error {
	err := c.Context.Err()
	if cause := context.Cause(c.Context); cause == errLate || cause == error(errCrowded) {
		return context.DeadlineExceeded
	}
	return err
}

// caller returns the calling party, as far as known before the first message.
func (g *Gateway) caller(ctx context.Context) fairshare.Party {
	var c call
	if p, ok := peer.FromContext(ctx); ok {
		c.address = hostOf(p.Addr)
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if shown := md.Get(ticketHeader); len(shown) > 0 && g.tickets.accepts(shown[0]) {
		return c.party(shown[0])
	}
	return c.party("")
}

// over ends the arrival: the call is admitted, or has ended.
func (a *arrival) over() {
	a.late.Stop()
	a.place.Leave()
}

// arrivalOf returns a call's arrival; nil if the server lacks the gateway's options.
func arrivalOf(ctx context.Context) *arrival {
	a, _ := ctx.Value(arrivalKey{}).(*arrival)
	return a
}

// received records that a call's first message has arrived.
func received(ctx context.Context) {
	if a := arrivalOf(ctx); a != nil {
		a.late.Stop()
	}
}

// unary is the interceptor for calls without streams.
func unary(ctx context.Context, m any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	received(ctx)
	return handler(ctx, m)
}

// streaming is the interceptor for streams.
func streaming(of any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(of, &firstReceived{ServerStream: s})
}

// firstReceived records a stream's first message.
type firstReceived struct {
	grpc.ServerStream
	noted bool
}

// RecvMsg implements grpc.ServerStream.
func (f *firstReceived) RecvMsg(m any) error {
	err := f.ServerStream.RecvMsg(m)
	if err == nil && !f.noted {
		f.noted = true
		received(f.Context())
	}
	return err
}

// admit finds a ticket's client. Once hosts have accepted the ticket, the call is admitted, and its connection counts
// for the ticket. The caller must call leave.
func (g *Gateway) admit(ctx context.Context, c *call, token string) (t *ticket, leave func(), err error) {
	t, err = g.tickets.use(ctx, token, c.party(""))
	if err != nil {
		return nil, nil, err
	}
	if !c.from.begin(c.party(token)) {
		g.tickets.leave(token, t)
		return nil, nil, &failed{Ydb.StatusIds_UNAVAILABLE, "the client has more than its share of connections"}
	}
	if a := arrivalOf(ctx); a != nil {
		a.over()
	}
	return t, func() {
		c.from.end()
		g.tickets.leave(token, t)
	}, nil
}
