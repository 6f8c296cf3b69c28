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

// contend is a candidate as in the recipe: it asks term.Err before each action of a leader. Constantly busy, it asks
// before the timers of a paused process have fired.
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

// candidate is a Run with reported terms, which last until their context ends.
type candidate struct {
	s     *client.Session
	terms chan election.Term
	ends  chan error // the cause of each term's end
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
