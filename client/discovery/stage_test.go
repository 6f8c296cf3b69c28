package discovery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

const (
	path = "/test/jobs"
	name = "endpoints"
)

// shards are enough for sessions and semaphores to live in different ones.
const shards = 2

// play runs a test on a cluster in a bubble of time, with a node and a client.
func play(t *testing.T, hosts int, f func(t *testing.T, srv *servertest.Cluster, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := servertest.Start(t, servertest.Hosts(hosts), servertest.Shards(shards))
		c := open(t, srv)
		_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
		check(t, err)
		f(t, srv, c)
	})
}

func open(t *testing.T, srv *servertest.Cluster) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), srv.Addresses(), client.WithDialer(srv.Dial))
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func session(t *testing.T, c *client.Client, options ...client.SessionOption) *client.Session {
	t.Helper()
	s, err := c.Session(t.Context(), path, options...)
	check(t, err)
	return s
}

// lead makes a host the leader of everything, after all its clients were cut off.
func lead(t *testing.T, srv *servertest.Cluster, host shard.HostID) {
	t.Helper()
	srv.CutClients(host)
	for id := range uint64(shards + 1) {
		check(t, srv.Elect(id, host))
	}
}

// settled waits until all that was changed has arrived. A session that ended soon after it began is
// renewed after a pause.
func settled() {
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
