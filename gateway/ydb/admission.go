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
	// firstMessageTimeout is how long the first message of a call may take.
	firstMessageTimeout = 5 * time.Second
	// maxArriving is the maximum number of calls that are being admitted: until their first message has come, and hosts
	// have accepted their ticket.
	maxArriving = 10_000
)

// The causes of a call's end before the call is admitted.
var (
	errLate    = errors.New("the first message did not come within " + firstMessageTimeout.String())
	errCrowded = &failed{Ydb.StatusIds_OVERLOADED, "too many calls wait to be admitted"}
)

// arrival is a call that is not admitted yet. It ends if its first message is late, or if another party needs its
// place.
type arrival struct {
	gateway *Gateway
	place   *fairshare.Unit
	late    *time.Timer
}

type arrivalKey struct{}

// arrive admits a call to the gateway, before the server makes a stream of it. The context ends the call.
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

// arrivalContext is the context of a call. The server derives the status of a call that ends without a message from
// Err: CANCELLED would say that the client has ended the call.
type arrivalContext struct{ context.Context }

// Err implements context.Context.
func (c arrivalContext) Err() error {
	err := c.Context.Err()
	if cause := context.Cause(c.Context); cause == errLate || cause == error(errCrowded) {
		return context.DeadlineExceeded
	}
	return err
}

// caller is who calls, as far as it is known before the first message.
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

// arrivalOf is the arrival of a call; nil for a call to a server without the gateway's options.
func arrivalOf(ctx context.Context) *arrival {
	a, _ := ctx.Value(arrivalKey{}).(*arrival)
	return a
}

// received records that the first message of a call has come.
func received(ctx context.Context) {
	if a := arrivalOf(ctx); a != nil {
		a.late.Stop()
	}
}

// unary is the interceptor of calls that are no streams.
func unary(ctx context.Context, m any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	received(ctx)
	return handler(ctx, m)
}

// streaming is the interceptor of streams.
func streaming(of any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(of, &firstReceived{ServerStream: s})
}

// firstReceived notes the first message of a stream.
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

// admit finds the client of a ticket. When hosts have accepted the ticket, the call is admitted, and its connection
// counts for the ticket. The caller calls leave.
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
