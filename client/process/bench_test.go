package process_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

// group is a process's members, with a coordinator that waits for work.
type group struct {
	g    *clienttest.Stage
	work chan func(ctx context.Context, r *process.Round) error
	done chan error
}

// newGroup joins the given number of members, each with its own session, and waits until all are in one round.
func newGroup(b *testing.B, members int, answer func(q *process.Request) (any, error)) *group {
	x := &group{
		g:    clienttest.New(b, servertest.Shards(1)),
		work: make(chan func(context.Context, *process.Round) error), done: make(chan error),
	}
	handler := process.Handler{
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			if r.Size() < members {
				return nil, nil
			}
			for {
				var work func(context.Context, *process.Round) error
				process.Yield(ctx, func() {
					select {
					case work = <-x.work:
					case <-ctx.Done():
					}
				})
				if work == nil {
					return nil, context.Cause(ctx)
				}
				x.done <- work(ctx, r)
			}
		},
		Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) { return answer(q) },
	}
	spec := process.Spec{MinMembers: members}
	for i := range members {
		s := x.g.Session(client.SessionTimeout(time.Minute))
		options := []process.JoinOption{
			process.WithName(fmt.Sprint("member ", i)), process.Create(spec), process.Encoding(process.Raw),
		}
		if i > 0 {
			options = append(options, process.Observer())
		}
		_, err := process.Join(b.Context(), s, name, handler, options...)
		clienttest.Check(b, err)
	}
	return x
}

// do runs a function as the coordinator, in its round.
func (g *group) do(b *testing.B, work func(ctx context.Context, r *process.Round) error) {
	g.work <- work
	clienttest.Check(b, <-g.done)
}

// BenchmarkBroadcast: a 1 KiB request to all members, and all replies.
func BenchmarkBroadcast(b *testing.B) {
	for _, members := range []int{1, 3, 100, 1000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			x := newGroup(b, members, func(*process.Request) (any, error) { return "done", nil })
			request := make([]byte, 1<<10)
			b.ReportAllocs()
			for b.Loop() {
				x.do(b, func(ctx context.Context, r *process.Round) error {
					_, err := r.Broadcast(ctx, request)
					return err
				})
			}
		})
	}
}

// BenchmarkRequestsToOne: 200 concurrent requests to one member.
func BenchmarkRequestsToOne(b *testing.B) {
	const requests = 200
	x := newGroup(b, 2, func(*process.Request) (any, error) { return "done", nil })
	b.ReportAllocs()
	for b.Loop() {
		x.do(b, func(ctx context.Context, r *process.Round) error {
			open := make(chan *process.Exchange, requests)
			failed := make(chan error, 1)
			go func() {
				defer close(open)
				for range requests {
					x, err := r.Start(r.Context(), "work", process.Others())
					if err != nil {
						failed <- err
						return
					}
					open <- x
				}
			}()
			for x := range open {
				if _, err := x.Wait(ctx); err != nil {
					return err
				}
			}
			select {
			case err := <-failed:
				return err
			default:
				return nil
			}
		})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*requests), "us/request")
}

// BenchmarkIdleMembers: an idle member's cost, in the client and the machine together.
func BenchmarkIdleMembers(b *testing.B) {
	const members = 2000
	g := clienttest.New(b, servertest.Shards(1))
	sessions := make([]*client.Session, members)
	for i := range sessions {
		sessions[i] = g.Session(client.SessionTimeout(time.Minute))
	}
	handler := process.Handler{Coordinate: func(context.Context, *process.Round) (any, error) { return nil, nil }}
	goroutines, bytes, joined := runtime.NumGoroutine(), heap(), 0
	for b.Loop() {
		all := make([]*process.Member, members)
		for i, s := range sessions {
			var err error
			all[i], err = process.Join(b.Context(), s, fmt.Sprintf("process %d of %d", joined, i), handler)
			clienttest.Check(b, err)
		}
		for _, m := range all {
			_, err := m.Await(b.Context())
			clienttest.Check(b, err)
		}
		joined++
	}
	all := float64(joined * members)
	b.ReportMetric(float64(heap()-bytes)/all, "B/member")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/all, "goroutines/member")
}

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
