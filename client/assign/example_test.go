package assign_test

import (
	"context"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/assign"
	"github.com/signalbox/signalbox/test/clienttest"
)

// Example divides four tenants among two programs.
func Example() {
	ctx := context.Background()
	c, _, stop := clienttest.Connect(ctx, "/prod/jobs")
	defer stop()

	serves := make(chan string)
	program := func(name string) *assign.Member {
		s, err := c.Session(ctx, "/prod/jobs", client.Recreate())
		if err != nil {
			panic(err)
		}
		m, err := assign.Join(ctx, s, "tenants", assign.Names("ann", "bob", "cid", "dan"),
			func(ctx context.Context, p assign.Partition) error {
				serves <- fmt.Sprintf("%s serves %s", name, p.Name)
				<-ctx.Done() // the work, until the part moves
				return context.Cause(ctx)
			}, assign.WithName(name))
		if err != nil {
			panic(err)
		}
		return m
	}
	hear := func(n int) {
		for range n {
			fmt.Println(<-serves)
		}
	}
	one := program("one")
	hear(4)
	two := program("two")
	hear(2) // the newcomer gets two parts, and the first member continues with the remaining parts
	if err := one.Leave(ctx); err != nil {
		fmt.Println(err)
	}
	hear(2)
	if err := two.Leave(ctx); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// one serves ann
	// one serves bob
	// one serves cid
	// one serves dan
	// two serves cid
	// two serves dan
	// two serves ann
	// two serves bob
}
