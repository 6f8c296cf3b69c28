package election_test

import (
	"context"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/server/servertest"
)

const path, name = "/jobs", "leader"

// stage is a cluster with a client, for one test.
type stage struct {
	t   *testing.T
	srv *servertest.Cluster
	c   *client.Client
}

func newStage(t *testing.T) *stage {
	t.Helper()
	srv := servertest.Start(t)
	c, err := client.Open(t.Context(), srv.Addresses(), client.WithDialer(srv.Dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	return &stage{t, srv, c}
}

func (g *stage) session(options ...client.SessionOption) *client.Session {
	g.t.Helper()
	s, err := g.c.Session(g.t.Context(), path, options...)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

func (g *stage) destroy(s *client.Session) {
	g.t.Helper()
	if err := g.c.DestroySession(g.t.Context(), s.ID()); err != nil {
		g.t.Fatal(err)
	}
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
