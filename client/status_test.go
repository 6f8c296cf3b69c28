package client_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestHostsSayTheirLoad: each host reports its own load, or that it has not yet measured it.
func TestHostsSayTheirLoad(t *testing.T) {
	cluster := servertest.Start(t, servertest.Hosts(2))
	reported := server.Load{
		Span: 5 * time.Second, Requests: 1000, Failed: 10, P50: 400 * time.Microsecond, P99: 3 * time.Millisecond,
		CommitP99: 2 * time.Millisecond, DiskFree: 7, DiskTotal: 9,
	}
	cluster.Host(2).ReportLoad(reported)
	c, err := client.Open(t.Context(), cluster.Addresses(), client.WithDialer(cluster.Dial))
	check(t, err)
	defer c.Close()
	list, err := c.Status(t.Context())
	check(t, err)
	wanted := map[uint64]client.HostLoad{1: {}, 2: client.HostLoad(reported)}
	for _, h := range list {
		check(t, h.Err)
		if h.Load == nil || *h.Load != wanted[h.ID] {
			t.Errorf("host %d says %+v, want %+v", h.ID, h.Load, wanted[h.ID])
		}
		delete(wanted, h.ID)
	}
	if len(wanted) > 0 {
		t.Errorf("not in the list: %v", wanted)
	}
	load := client.HostLoad(reported)
	if requests, failed := load.PerSecond(); requests != 200 || failed != 2 {
		t.Errorf("%v and %v a second", requests, failed)
	}
	load.Span = 0
	if requests, failed := load.PerSecond(); requests != 0 || failed != 0 {
		t.Errorf("%v and %v in no time", requests, failed)
	}
}

// TestAHostOfAnEarlierBuildSaysNoLoad: an older host, which does not announce the request, is not asked, and reports
// the rest.
func TestAHostOfAnEarlierBuildSaysNoLoad(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		list, err := c.Status(t.Context())
		check(t, err)
		for _, h := range list {
			if check(t, h.Err); h.Load != nil || h.Name == "" {
				t.Errorf("%+v", h)
			}
		}
		if n := fake.count(protocol.KindHostLoad); len(list) != 1 || n != 0 {
			t.Errorf("%d hosts, asked %d times", len(list), n)
		}
	})
}
