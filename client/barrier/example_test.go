package barrier_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/test/clienttest"
)

// Example has three workers begin together, and end together.
func Example() {
	ctx := context.Background()
	c, _, stop := clienttest.Connect(ctx, "/prod/jobs")
	defer stop()

	var all sync.WaitGroup
	var mu sync.Mutex
	sum := 0
	worker := func(n int) error {
		s, err := c.Session(ctx, "/prod/jobs", client.Recreate())
		if err != nil {
			return err
		}
		defer s.Close(ctx)
		return barrier.New(s, "sum", 3).Do(ctx, func(context.Context, *barrier.Entry) error {
			mu.Lock()
			defer mu.Unlock()
			sum += n
			return nil
		})
	}
	for n := 1; n <= 3; n++ {
		all.Go(func() {
			if err := worker(n); err != nil {
				fmt.Println(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			fmt.Println("all have added what they have:", sum)
		})
	}
	all.Wait()
	// Output:
	// all have added what they have: 6
	// all have added what they have: 6
	// all have added what they have: 6
}
