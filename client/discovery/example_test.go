package discovery_test

import (
	"context"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/test/clienttest"
)

// cluster starts a cluster in memory, with a client, a node and a session.
func cluster(ctx context.Context) (c *client.Client, s *client.Session, stop func()) {
	return clienttest.Connect(ctx, "/prod/jobs", client.Recreate())
}

func ExampleRegister() {
	ctx := context.Background()
	c, session, stop := cluster(ctx)
	defer stop()

	r, err := discovery.Register(ctx, session, "endpoints", discovery.Endpoint{
		Address: "10.0.0.7:8080", Metadata: map[string]string{"zone": "b"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, _ := discovery.List(ctx, c, "/prod/jobs", "endpoints")
	for _, e := range list {
		fmt.Println(e.Address, "in zone", e.Metadata["zone"])
	}
	if err := r.Close(ctx); err != nil {
		fmt.Println(err)
		return
	}
	list, err = discovery.List(ctx, c, "/prod/jobs", "endpoints")
	fmt.Println(len(list), err)
	// Output:
	// 10.0.0.7:8080 in zone b
	// 0 <nil>
}

func ExampleWatch() {
	ctx := context.Background()
	c, session, stop := cluster(ctx)
	defer stop()

	for set, err := range discovery.Watch(ctx, c, "/prod/jobs", "endpoints") {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, e := range set.Joined {
			fmt.Println(e.Address, "joined")
		}
		if len(set.Endpoints) > 0 {
			break
		}
		fmt.Println("no endpoint is there")
		if _, err := discovery.Register(ctx, session, "endpoints",
			discovery.Endpoint{Address: "10.0.0.7:8080"}); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// no endpoint is there
	// 10.0.0.7:8080 joined
}

// ExampleFollow: a resolver, for example in a gRPC client, follows on a goroutine that ends with its context.
func ExampleFollow() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, session, stop := cluster(ctx)
	defer stop()
	if _, err := discovery.Register(ctx, session, "endpoints",
		discovery.Endpoint{Address: "10.0.0.7:8080"}); err != nil {
		fmt.Println(err)
		return
	}

	resolved := make(chan string, 10)
	ended := make(chan error)
	go func() {
		ended <- discovery.Follow(ctx, c, "/prod/jobs", "endpoints", func(list []discovery.Endpoint) {
			for _, e := range list {
				resolved <- e.Address
			}
		})
	}()
	fmt.Println(<-resolved)
	cancel()
	fmt.Println(<-ended)
	// Output:
	// 10.0.0.7:8080
	// discovery: watch "endpoints": context canceled
}
