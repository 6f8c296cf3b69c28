package election_test

import (
	"context"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/client/internal/clienttest"
	"github.com/signalbox/signalbox/server/servertest"
)

const path, name = clienttest.Path, "leader"

func TestMain(m *testing.M) { clienttest.Main(m) }

// stage is a cluster with a client, for one test.
type stage struct {
	t   *testing.T
	srv *servertest.Cluster
	c   *client.Client
	*clienttest.Stage
}

func newStage(t *testing.T) *stage {
	t.Helper()
	g := clienttest.New(t, servertest.Shards(1))
	return &stage{t, g.Server, g.Client, g}
}

func (g *stage) session(options ...client.SessionOption) *client.Session {
	g.t.Helper()
	return g.Session(options...)
}

func (g *stage) destroy(s *client.Session) {
	g.t.Helper()
	g.Destroy(s)
}

// candidate is a Run whose terms are told, and last until their context ends.
type candidate struct {
	s     *client.Session
	terms chan election.Term
	ends  chan error // the cause of the end of each term
	done  chan error // what Run returned
}

func (g *stage) candidate(ctx context.Context, data string, s *client.Session, options ...election.Option) *candidate {
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
