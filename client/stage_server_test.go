package client_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// serverStage is the real server as a stage.
type serverStage struct {
	t             *testing.T
	cluster       *servertest.Cluster
	hosts, shards int
}

func newServerStage(t *testing.T, hosts, shards int) *serverStage {
	cluster, err := servertest.Run(servertest.Hosts(hosts), servertest.Shards(shards))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.WaitReady(time.Minute); err != nil {
		t.Fatal(err)
	}
	return &serverStage{t: t, cluster: cluster, hosts: hosts, shards: shards}
}

func (s *serverStage) addresses() string { return s.cluster.Addresses() }

func (s *serverStage) dial(ctx context.Context, address string) (net.Conn, error) {
	return s.cluster.Dial(ctx, address)
}

func (s *serverStage) lead(host int) {
	for i := range s.shards + 1 {
		_ = s.cluster.Elect(uint64(i), shard.HostID(host+1)) // if the host is down, another one leads
	}
}

func (s *serverStage) cut() {
	for i := range s.hosts {
		s.cluster.CutClients(shard.HostID(i + 1))
	}
}

func (s *serverStage) take(host int) { s.cluster.Stop(shard.HostID(host + 1)) }

func (s *serverStage) bring(host int) {
	id := shard.HostID(host + 1)
	if s.cluster.Host(id) != nil {
		return
	}
	if err := s.cluster.Restart(id); err != nil {
		s.t.Error(err)
	}
}

func (s *serverStage) ready() {} // clients wait for leaders

func (s *serverStage) size() int { return s.hosts }

func (s *serverStage) close() { s.cluster.Close() }
