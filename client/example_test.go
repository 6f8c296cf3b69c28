package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
)

// exampleHost is a host in memory for the examples.
func exampleHost() *servertest.Cluster {
	srv, err := servertest.Run()
	if err == nil {
		err = srv.WaitReady(30 * time.Second)
	}
	if err != nil {
		log.Fatal(err)
	}
	return srv
}

func Example() {
	srv := exampleHost()
	defer srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	c, err := client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial)) // without a dialer: TCP
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateNode(ctx, "/prod/jobs", client.NodeConfig{}); err != nil {
		log.Fatal(err)
	}
	s, err := c.Session(ctx, "/prod/jobs", client.SessionTimeout(10*time.Second), client.Description("worker-1"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)

	// At most three workers at the same time. The first worker creates the semaphore.
	lease, err := s.Semaphore("slots", client.Limit(3)).Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release(ctx)
	select {
	case <-lease.Context().Done():
		fmt.Println("lost:", context.Cause(lease.Context()))
	default:
		fmt.Println("working")
	}
	// Output: working
}

// store is a resource protected by a lock, for example a database. It keeps the highest token seen and refuses lower
// tokens.
type store struct {
	value string
	fence uint64
}

var errStale = errors.New("a newer owner has written already")

func (s *store) write(value string, fence uint64) error {
	if fence < s.fence {
		return errStale
	}
	s.value, s.fence = value, fence
	return nil
}

// ExampleLease_Fence: a program paused while it owned a lock does not know of the next owner. The store detects this by
// the token.
func ExampleLease_Fence() {
	srv := exampleHost()
	defer srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateNode(ctx, "/prod", client.NodeConfig{}); err != nil {
		log.Fatal(err)
	}
	lock := func() (*client.Session, *client.Lease) {
		s, err := c.Session(ctx, "/prod")
		if err != nil {
			log.Fatal(err)
		}
		lease, err := s.Ephemeral("account/17").Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		return s, lease
	}

	var account store
	stopped, old := lock()
	// The first owner is paused, and its session ends. Another owner gets the lock and writes.
	if err := c.DestroySession(ctx, stopped.ID()); err != nil {
		log.Fatal(err)
	}
	_, lease := lock()
	fmt.Println("new owner:", account.write("new", lease.Fence()))
	// The first owner goes on.
	fmt.Println("old owner:", account.write("old", old.Fence()))
	fmt.Println(account.value)
	// Output:
	// new owner: <nil>
	// old owner: a newer owner has written already
	// new
}

func ExampleNode_Watch() {
	srv := exampleHost()
	defer srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateNode(ctx, "/prod", client.NodeConfig{}); err != nil {
		log.Fatal(err)
	}
	s, err := c.Session(ctx, "/prod")
	if err != nil {
		log.Fatal(err)
	}
	backends := s.Semaphore("backends", client.Limit(client.All))

	// The name may be missing. The loop gets a view at once, and one for each change.
	for view, err := range c.Node("/prod").Watch(ctx, "backends") {
		if err != nil {
			log.Fatal(err)
		}
		for _, owner := range view.Changes().Joined {
			fmt.Printf("%s is here\n", owner.Data)
		}
		for _, owner := range view.Changes().Left {
			fmt.Printf("%s is gone\n", owner.Data)
			return
		}
		if view.Len() == 0 {
			_, err = backends.Acquire(ctx, client.Data([]byte("10.0.0.7:8080")))
		} else {
			_, err = backends.Release(ctx)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 10.0.0.7:8080 is here
	// 10.0.0.7:8080 is gone
}
