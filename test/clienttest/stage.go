package clienttest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// Path is the path of the initial node.
const Path = "/test/jobs"

// shards are enough for sessions and semaphores to live in different ones.
const shards = 2

// Stage is an in-memory cluster with a client and a node, for one test. Its failures fail the test.
type Stage struct {
	T      testing.TB
	Server *servertest.Cluster
	Client *client.Client
}

// New creates a stage with one host, or according to the options.
func New(t testing.TB, options ...servertest.Option) *Stage {
	t.Helper()
	srv := servertest.Start(t, append([]servertest.Option{servertest.Shards(shards)}, options...)...)
	g := &Stage{T: t, Server: srv, Client: Open(t, srv)}
	_, err := g.Client.CreateNode(t.Context(), Path, client.NodeConfig{})
	Check(t, err)
	return g
}

// Play runs a test on a stage with the given number of hosts, in a time bubble, which fails if a goroutine remains.
func Play(t *testing.T, hosts int, f func(t *testing.T, g *Stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, New(t, servertest.Hosts(hosts))) })
}

// Storms returns the number of storms to run out of n: all, or two in short mode.
func Storms(n uint64) uint64 {
	if testing.Short() {
		return min(n, 2)
	}
	return n
}

// Session starts a session in the node.
func (st *Stage) Session(options ...client.SessionOption) *client.Session {
	st.T.Helper()
	return Session(st.T, st.Client, options...)
}

// Destroy ends a session as an operator does.
func (st *Stage) Destroy(s *client.Session) {
	st.T.Helper()
	Check(st.T, st.Client.DestroySession(st.T.Context(), s.ID()))
}

// Open opens a client, closed with the test.
func Open(t testing.TB, srv *servertest.Cluster) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), srv.Addresses(), client.WithDialer(srv.Dial))
	Check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Connect starts an in-process server, a client, a node and a session, for an example.
func Connect(
	ctx context.Context, path string, options ...client.SessionOption,
) (c *client.Client, s *client.Session, stop func()) {
	srv, err := servertest.Run()
	if err == nil {
		err = srv.WaitReady(time.Minute)
	}
	if err == nil {
		c, err = client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial))
	}
	if err == nil {
		_, err = c.CreateNode(ctx, path, client.NodeConfig{})
	}
	if err == nil {
		s, err = c.Session(ctx, path, options...)
	}
	if err != nil {
		panic(err)
	}
	return c, s, func() {
		_ = c.Close()
		srv.Close()
	}
}

// Session starts a session in the node.
func Session(t testing.TB, c *client.Client, options ...client.SessionOption) *client.Session {
	t.Helper()
	s, err := c.Session(t.Context(), Path, options...)
	Check(t, err)
	return s
}

// Lead disconnects all clients and makes a host the leader of everything.
func Lead(t testing.TB, srv *servertest.Cluster, host shard.HostID) {
	t.Helper()
	srv.CutClients(host)
	for id := range uint64(shards + 1) {
		Check(t, srv.Elect(id, host))
	}
}

// WaitForQuiet waits, in a bubble, until all changes have arrived. A session that ended soon after its start is
// recreated after a pause, which is over by then.
func WaitForQuiet() {
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

// Check fails the test over an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
