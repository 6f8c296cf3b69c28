package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/signalbox/signalbox/client"
)

// exampleSessions starts a host in memory, with a node and n sessions.
func exampleSessions(ctx context.Context, n int) (c *client.Client, sessions []*client.Session, stop func()) {
	srv := exampleHost()
	c, err := client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.CreateNode(ctx, "/prod/jobs", client.NodeConfig{}); err != nil {
		log.Fatal(err)
	}
	for range n {
		s, err := c.Session(ctx, "/prod/jobs")
		if err != nil {
			log.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	return c, sessions, func() { _ = c.Close(); srv.Close() }
}

func ExampleClient_Session() {
	ctx := context.Background()
	c, _, stop := exampleSessions(ctx, 0)
	defer stop()

	states := make(chan client.State, 10)
	s, err := c.Session(ctx, "/prod/jobs",
		client.SessionTimeout(10*time.Second),
		client.Description("worker-1"),
		client.OnState(func(st client.State) { states <- st }),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-states)

	// An operator ends the session.
	if err := c.DestroySession(ctx, s.ID()); err != nil {
		log.Fatal(err)
	}
	<-s.Context().Done()
	var end *client.SessionEnd
	fmt.Println(<-states, errors.As(context.Cause(s.Context()), &end) && end.Reason == client.EndDestroyed)
	// Output:
	// attached
	// expired true
}

func ExampleSemaphore_Acquire() {
	ctx := context.Background()
	_, s, stop := exampleSessions(ctx, 2)
	defer stop()

	// At most two at a time. The first use creates the semaphore.
	first, err := s[0].Semaphore("slots", client.Limit(2)).Acquire(ctx, client.Count(2),
		client.Data([]byte("worker-1")))
	if err != nil {
		log.Fatal(err)
	}
	slots := s[1].Semaphore("slots")
	_, err = slots.Acquire(ctx, client.Wait(10*time.Millisecond))
	fmt.Println(errors.Is(err, client.ErrNotAcquired))

	// The acquire waits in the queue until the first owner releases.
	second, err := slots.Acquire(ctx, client.OnQueued(func(place uint64) {
		fmt.Println("queued behind the first:", place > first.Fence())
		_ = first.Release(ctx)
	}))
	fmt.Println(second.Count(), err)
	// Output:
	// true
	// queued behind the first: true
	// 1 <nil>
}

func ExampleSemaphore_TryAcquire() {
	ctx := context.Background()
	_, s, stop := exampleSessions(ctx, 2)
	defer stop()

	lease, ok, err := s[0].Semaphore("slots", client.Limit(1)).TryAcquire(ctx)
	fmt.Println(lease.Count(), ok, err)
	_, ok, err = s[1].Semaphore("slots").TryAcquire(ctx)
	fmt.Println(ok, err) // taken: no error
	// Output:
	// 1 true <nil>
	// false <nil>
}

func ExampleEphemeral_Lock() {
	ctx := context.Background()
	_, s, stop := exampleSessions(ctx, 2)
	defer stop()

	lease, err := s[0].Ephemeral("object/17").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, ok, _ := s[1].Ephemeral("object/17").TryLock(ctx)
	fmt.Println("by two:", ok)
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = s[1].Ephemeral("object/17").Describe(ctx)
	fmt.Println("gone with its owner:", errors.Is(err, client.ErrSemaphoreNotFound))
	// Output:
	// by two: false
	// gone with its owner: true
}

func ExampleEphemeral_RLock() {
	ctx := context.Background()
	_, s, stop := exampleSessions(ctx, 3)
	defer stop()

	for _, reader := range s[:2] {
		if _, err := reader.Ephemeral("object/17").RLock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	_, ok, err := s[2].Ephemeral("object/17").TryLock(ctx)
	fmt.Println("alone while others read:", ok, err)
	// Output: alone while others read: false <nil>
}

// ExampleOnChanged: Describe shows a semaphore's state, and OnChanged reports its next change once.
func ExampleOnChanged() {
	ctx := context.Background()
	_, s, stop := exampleSessions(ctx, 1)
	defer stop()

	settings := s[0].Semaphore("settings")
	if err := settings.Create(ctx, 1, []byte("v1")); err != nil {
		log.Fatal(err)
	}
	changed := make(chan bool, 1)
	d, err := settings.Describe(ctx, client.OnChanged(func(data, owners bool) { changed <- data }))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, limit %d\n", d.Data, d.Limit)
	if err := settings.Update(ctx, []byte("v2")); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the data has changed:", <-changed)
	// Output:
	// v1, limit 1
	// the data has changed: true
}

// ExampleIfRevision: after two reads of the same revision one write succeeds; the other client reads again.
func ExampleIfRevision() {
	ctx := context.Background()
	c, _, stop := exampleSessions(ctx, 0)
	defer stop()

	node := c.Node("/prod/jobs")
	if err := node.Create(ctx, "settings", 1, []byte("v1")); err != nil {
		log.Fatal(err)
	}
	d, err := node.Describe(ctx, "settings", client.WithConsistency(client.Strict))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node.Update(ctx, "settings", []byte("mine"), client.IfRevision(d.Revision)))
	err = node.Update(ctx, "settings", []byte("theirs"), client.IfRevision(d.Revision))
	fmt.Println(errors.Is(err, client.ErrPreconditionFailed))
	// Output:
	// <nil>
	// true
}
