package election_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/test/clienttest"
)

// connect starts a server in this process, with a client.
func connect(ctx context.Context) (c *client.Client, s *client.Session, stop func()) {
	return clienttest.Connect(ctx, "/jobs", client.Recreate())
}

func ExampleRun() {
	ctx, cancel := context.WithCancel(context.Background())
	c, s, stop := connect(ctx)
	defer stop()

	err := election.Run(ctx, s, "leader", []byte("10.0.0.7:80"), func(ctx context.Context, term election.Term) error {
		leader, ok, err := election.Current(ctx, c, "/jobs", "leader")
		fmt.Println(string(leader.Data), "leads:", ok, leader.Fence == term.Fence)
		cancel() // for a program that ends; most programs lead until their context ends
		return err
	})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// 10.0.0.7:80 leads: true true
	// true
}

func ExampleTerm_Resign() {
	ctx := context.Background()
	_, s, stop := connect(ctx)
	defer stop()

	err := election.Run(ctx, s, "leader", nil, func(ctx context.Context, term election.Term) error {
		go term.Resign() // for example at an operator's request
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
		return context.Cause(ctx)
	}, election.Once())
	fmt.Println(err)
	// Output:
	// election: resign
	// <nil>
}

func ExampleObserve() {
	ctx := context.Background()
	c, s, stop := connect(ctx)
	defer stop()
	go func() {
		_ = election.Run(ctx, s, "leader", []byte("10.0.0.7:80"), func(ctx context.Context, _ election.Term) error {
			<-ctx.Done()
			return nil
		})
	}()

	for leader, err := range election.Observe(ctx, c, "/jobs", "leader") {
		if err != nil {
			fmt.Println(err)
			return
		}
		if leader.Fence != 0 {
			fmt.Println("send it to", string(leader.Data))
			break
		}
	}
	// Output: send it to 10.0.0.7:80
}
