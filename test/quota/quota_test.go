package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// stage is an in-memory cluster with one data shard and a client.
type stage struct {
	*testing.T
	cluster *servertest.Cluster
	client  *client.Client
}

// play runs a test on a cluster with the given number of hosts, in a time bubble.
func play(t *testing.T, hosts int, test func(s *stage), options ...servertest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster := servertest.Start(t, append(options, servertest.Hosts(hosts))...)
		c, err := client.Open(t.Context(), cluster.Addresses(), client.WithDialer(cluster.Dial))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		test(&stage{T: t, cluster: cluster, client: c})
	})
}

// must fails the test on an error.
func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// node creates a node with quotas, and waits until its shard has them.
func (s *stage) node(path string, config client.NodeConfig) *client.Node {
	s.Helper()
	info, err := s.client.CreateNode(s.Context(), path, config)
	s.must(err)
	s.awaitQuotas(info.ID, config)
	return s.client.Node(path)
}

// alter changes the quotas of a node, and waits until its shard has them.
func (s *stage) alter(path string, config client.NodeConfig) {
	s.Helper()
	info, err := s.client.AlterNode(s.Context(), path, config)
	s.must(err)
	s.awaitQuotas(info.ID, info.Config)
}

// awaitQuotas waits until the shard's leader has applied the node's quotas.
func (s *stage) awaitQuotas(node uint64, config client.NodeConfig) {
	s.Helper()
	s.await(fmt.Sprintf("node %d to have the quotas of %+v", node, config), func() bool {
		leader := s.cluster.Leader(1)
		return leader != 0 && s.has(leader, node, config)
	})
}

// has reports whether a host's replica of the shard has the node's quotas.
func (s *stage) has(host shard.HostID, node uint64, config client.NodeConfig) bool {
	u := s.cluster.Host(host).Usage(1, shard.NodeID(node))
	return u.ObjectLimit == cmp.Or(config.QuotaObjects, shard.DefaultNodeObjects) &&
		u.ByteLimit == cmp.Or(config.QuotaBytes, shard.DefaultNodeBytes)
}

// await waits until something holds.
func (s *stage) await(what string, holds func() bool) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("waited in vain for %s", what)
		}
	}
}

// elect makes a host the shard leader, and waits until the cluster serves again.
func (s *stage) elect(host shard.HostID) {
	s.Helper()
	s.must(s.cluster.Elect(1, host))
	s.await("the new leader", func() bool { return s.cluster.Leader(1) == host })
	s.must(s.cluster.WaitReady(time.Minute))
}

// refused fails the test unless the error is a quota error, and returns the quota.
func (s *stage) refused(err error, kind client.QuotaKind) client.Quota {
	s.Helper()
	quota, ok := client.QuotaOf(err)
	if !errors.Is(err, client.ErrQuotaExceeded) || !ok || quota.Kind != kind {
		s.Fatalf("%v with %+v, want the quota of %v", err, quota, kind)
	}
	return quota
}

// fill creates semaphores with the given data size until one is refused, and returns their number and the error.
func (s *stage) fill(n *client.Node, prefix string, data int) (made int, err error) {
	s.Helper()
	for ; made < 10_000; made++ {
		if err = n.Create(s.Context(), fmt.Sprint(prefix, made), 1, make([]byte, data)); err != nil {
			return made, err
		}
	}
	s.Fatal("nothing is refused")
	return 0, nil
}

func TestANodeIsFilledEmptiedAndFilledAgain(t *testing.T) {
	play(t, 3, func(s *stage) {
		const quota, data = 1 << 20, 30_000
		n := s.node("/small", client.NodeConfig{QuotaBytes: quota})
		other := s.node("/other", client.NodeConfig{})
		session, err := s.client.Session(s.Context(), "/small")
		s.must(err)
		lease, err := session.Ephemeral("held").Acquire(s.Context())
		s.must(err)

		made, err := s.fill(n, "large-", data)
		q := s.refused(err, client.QuotaNodeBytes)
		if made != quota/(data+shard.ObjectBytes+10) || q.Limit != quota || q.Used > quota || q.Used < quota-data-300 {
			s.Errorf("%d fit, %+v", made, q)
		}
		for _, says := range []string{"node bytes", "1,048,576", "signalbox node alter /small --quota-bytes"} {
			if !strings.Contains(err.Error(), says) {
				s.Errorf("%v does not say %q", err, says)
			}
		}
		_, err = s.fill(n, "small-", 0)
		s.refused(err, client.QuotaNodeBytes)

		// The node is full: every request that needs more is refused.
		_, err = s.client.Session(s.Context(), "/small")
		s.refused(err, client.QuotaNodeBytes)
		_, err = session.Ephemeral("more").Acquire(s.Context())
		s.refused(err, client.QuotaNodeBytes)
		s.refused(n.Update(s.Context(), "large-0", make([]byte, 2*data)), client.QuotaNodeBytes)
		s.must(other.Create(s.Context(), "beside", 1, make([]byte, data)))

		// Requests that keep or reduce the size succeed.
		s.must(n.Update(s.Context(), "large-0", []byte(strings.Repeat("x", data))))
		s.must(n.Update(s.Context(), "large-1", nil))
		s.must(lease.Release(s.Context()))
		s.must(n.Create(s.Context(), "again", 1, make([]byte, data)))
		s.must(n.Delete(s.Context(), "large-2"))
		s.must(session.Close(s.Context()))
		_, err = s.client.Session(s.Context(), "/small")
		s.must(err)
	})
}

func TestAQuotaBelowWhatIsThereTakesNothing(t *testing.T) {
	play(t, 3, func(s *stage) {
		n := s.node("/jobs", client.NodeConfig{QuotaObjects: 10})
		made, err := s.fill(n, "", 0)
		q := s.refused(err, client.QuotaNodeObjects)
		if made != 10 || q != (client.Quota{Kind: q.Kind, Limit: 10, Used: 10}) {
			s.Errorf("%d fit, %+v", made, q)
		}
		s.alter("/jobs", client.NodeConfig{QuotaObjects: 4})
		for left := 10; left > 4; left-- {
			q := s.refused(n.Create(s.Context(), "more", 1, nil), client.QuotaNodeObjects)
			if q.Limit != 4 || q.Used != uint64(left) {
				s.Errorf("%d are left: %+v", left, q)
			}
			s.must(n.Update(s.Context(), fmt.Sprint(left-1), []byte("data")))
			s.must(n.Delete(s.Context(), fmt.Sprint(left-1)))
		}
		s.refused(n.Create(s.Context(), "more", 1, nil), client.QuotaNodeObjects)
		s.must(n.Delete(s.Context(), "0"))
		s.must(n.Create(s.Context(), "more", 1, nil))
	})
}

func TestQuotasOutliveTheLeaderAndFollowTheConfig(t *testing.T) {
	play(t, 3, func(s *stage) {
		n := s.node("/jobs", client.NodeConfig{QuotaObjects: 2})
		_, err := s.fill(n, "", 0)
		s.refused(err, client.QuotaNodeObjects)
		session, err := s.client.Session(s.Context(), "/jobs") // its changes have an outcome despite leader changes
		s.must(err)
		for i := range uint64(3) {
			leader := s.cluster.Leader(1)
			next := leader%3 + 1
			s.elect(next)
			s.refused(session.Semaphore("more").Create(s.Context(), 1, nil), client.QuotaNodeObjects)
			s.alter("/jobs", client.NodeConfig{QuotaObjects: 3 + i})
			s.must(session.Semaphore(fmt.Sprint("more-", i)).Create(s.Context(), 1, nil))
			s.refused(session.Semaphore("more").Create(s.Context(), 1, nil), client.QuotaNodeObjects)
		}

		// A leader that cannot commit proposes again when it can, and a partitioned leader is replaced.
		s.must(s.cluster.Elect(0, s.cluster.Leader(1)%3+1))
		cut := s.cluster.Leader(1)
		s.cluster.Isolate(cut)
		info, err := s.client.AlterNode(s.Context(), "/jobs", client.NodeConfig{QuotaObjects: 7})
		s.must(err)
		s.await("another leader", func() bool { return s.cluster.Leader(1) != cut })
		s.awaitQuotas(info.ID, info.Config)
		s.cluster.Heal()
		s.must(s.cluster.WaitReady(time.Minute))
		for id := range shard.HostID(3) {
			s.await("all copies to have it", func() bool {
				return s.has(id+1, info.ID, info.Config)
			})
		}
	})
}

func TestManyNodesGetTheirQuotas(t *testing.T) {
	play(t, 1, func(s *stage) {
		const nodes = 1200 // more than are proposed at a time
		var last *client.NodeInfo
		for i := range nodes {
			var err error
			last, err = s.client.CreateNode(s.Context(), fmt.Sprint("/jobs/", i), client.NodeConfig{QuotaObjects: 1})
			s.must(err)
		}
		s.await("all quotas", func() bool {
			for id := uint64(1); id <= last.ID; id++ {
				if !s.has(1, id, last.Config) {
					return false
				}
			}
			return true
		})
		// A dropped node is forgotten, including its quota.
		s.must(s.client.DropNode(s.Context(), last.Path))
		s.await("the quota to go with its node", func() bool {
			return s.has(1, last.ID, client.NodeConfig{})
		})
	})
}

func TestTheQuotaOfAShardIsThatOfItsLeader(t *testing.T) {
	objects := func(c *server.Config) { c.ShardObjects = 3 + uint64(c.ID) }
	play(t, 3, func(s *stage) {
		n := s.node("/jobs", client.NodeConfig{})
		for _, id := range []shard.HostID{1, 3, 2} {
			s.elect(id)
			s.await("the quota of the leader", func() bool {
				return s.cluster.Leader(1) == id && s.cluster.Host(id).Usage(1, 0).ObjectLimit == 3+uint64(id)
			})
			_, err := s.fill(n, fmt.Sprint("of-", id, "-"), 0)
			q := s.refused(err, client.QuotaShardObjects)
			if q.Limit != 3+uint64(id) || !strings.Contains(err.Error(), "raise --shard-quota-objects on the hosts") {
				s.Errorf("%+v: %v", q, err)
			}
		}
	}, servertest.Config(objects))
}

// TestAChangeThatIsSentAgainIsNotRefused: a repeated change gets its cached answer, regardless of the quota.
func TestAChangeThatIsSentAgainIsNotRefused(t *testing.T) {
	play(t, 3, func(s *stage) {
		n := s.node("/jobs", client.NodeConfig{QuotaObjects: 50})
		session, err := s.client.Session(s.Context(), "/jobs")
		s.must(err)
		cutting, stop := context.WithCancel(s.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for cutting.Err() == nil {
				time.Sleep(3 * time.Millisecond)
				for id := range shard.HostID(3) {
					s.cluster.CutClients(id + 1)
				}
			}
		}()
		for i := range 50 {
			s.must(session.Semaphore(fmt.Sprint(i)).Create(s.Context(), 1, nil))
		}
		s.refused(session.Semaphore("more").Create(s.Context(), 1, nil), client.QuotaNodeObjects)
		stop()
		<-done
		count := 0
		for _, err := range n.Semaphores(s.Context()) {
			s.must(err)
			count++
		}
		if count != 50 {
			s.Errorf("%d semaphores", count)
		}
	})
}
