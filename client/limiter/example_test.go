package limiter_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/limiter"
	"github.com/signalbox/signalbox/test/clienttest"
)

// connect starts a server in this process, with a client.
func connect(ctx context.Context) (c *client.Client, stop func()) {
	c, _, stop = clienttest.Connect(ctx, "/jobs")
	return c, stop
}

func ExampleLimiter_Do() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()

	exports, err := limiter.New(c, "/jobs", "exports", 3)
	if err != nil {
		log.Fatal(err)
	}
	defer exports.Close(ctx)

	var running, most atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			err := exports.Do(ctx, func(ctx context.Context, fence uint64) error {
				n := running.Add(1)
				defer running.Add(-1)
				most.Store(max(most.Load(), n))
				return nil
			})
			if err != nil {
				log.Print(err)
			}
		})
	}
	all.Wait()
	fmt.Println("more than three at a time:", most.Load() > 3)
	// Output: more than three at a time: false
}

func ExampleLimiter_Acquire() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()

	exports, err := limiter.New(c, "/jobs", "exports", 2)
	if err != nil {
		log.Fatal(err)
	}
	defer exports.Close(ctx)

	for range 2 {
		slot, err := exports.Acquire(ctx)
		if err != nil {
			log.Fatal(err)
		}
		defer slot.Release(ctx) // slot.Context() ends when the slot is lost
	}
	_, ok, err := exports.TryAcquire(ctx)
	fmt.Println("a third one:", ok, err)
	// Output: a third one: false <nil>
}
