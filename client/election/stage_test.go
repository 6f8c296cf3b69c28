package election_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

// candidateVariable makes the test program a candidate. The value has the hosts' addresses.
const candidateVariable = "SIGNALBOX_TEST_CANDIDATE"

const path, name = clienttest.Path, "leader"

func TestMain(m *testing.M) {
	if addresses := os.Getenv(candidateVariable); addresses != "" {
		fmt.Println("over:", contend(addresses))
		return
	}
	clienttest.Main(m)
}

// contend is a candidate as in the recipe: the candidate checks term.Err before each leader action. Being always busy,
// the candidate checks before a paused process's timers have fired.
func contend(addresses string) error {
	ctx := context.Background()
	c, err := client.Open(ctx, addresses)
	if err != nil {
		return err
	}
	s, err := c.Session(ctx, path, client.SessionTimeout(time.Second), client.Recreate())
	if err != nil {
		return err
	}
	return election.Run(ctx, s, name, nil, func(_ context.Context, term election.Term) error {
		fmt.Println("term", term.Fence)
		for {
			if err := term.Err(); err != nil {
				return err
			}
		}
	})
}

// stage is a cluster with a client, for one test.
type stage struct{ *clienttest.Stage }

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{clienttest.New(t, servertest.Shards(1))}
}

// candidate is a Run that reports terms, which last until their context ends.
type candidate struct {
	s     *client.Session
	terms chan election.Term
	ends  chan error // each term's end cause
	done  chan error // what Run returned
}

func (st *stage) candidate(ctx context.Context, data string, s *client.Session, options ...election.Option) *candidate {
	c := &candidate{s: s, terms: make(chan election.Term, 10), ends: make(chan error, 10), done: make(chan error, 1)}
	go func() {
		c.done <- election.Run(ctx, s, name, []byte(data), func(ctx context.Context, term election.Term) error {
			c.terms <- term
			<-ctx.Done()
			c.ends <- context.Cause(ctx)
			return context.Cause(ctx)
		}, options...)
	}()
	return c
}
