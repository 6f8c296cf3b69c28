package http

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	hostcaller "github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// TestLoadsAreOfTheLastHour: the newest are kept, in their order, and no more.
func TestLoadsAreOfTheLastHour(t *testing.T) {
	var l loads
	began := time.Now()
	for i := range loadKept + 3 {
		l.add(Load{At: began.Add(time.Duration(i) * loadEvery), PerSecond: float64(i)})
	}
	all := l.all()
	if len(all) != loadKept || all[0].PerSecond != 3 || all[len(all)-1].PerSecond != loadKept+2 {
		t.Errorf("%d, from %v to %v", len(all), all[0].PerSecond, all[len(all)-1].PerSecond)
	}
	all[0].PerSecond = -1
	if l.all()[0].PerSecond != 3 {
		t.Error("what was returned is changed by its reader")
	}
}

// TestLoadsAreMergedWithinTenSeconds: a merged load has the mean rate and the highest latency.
func TestLoadsAreMergedWithinTenSeconds(t *testing.T) {
	var l loads
	began := time.Now()
	l.add(Load{At: began, PerSecond: 10, Failed: 1, P50: 1, P99: 9, CommitP99: 2, DiskFree: 8, DiskTotal: 9})
	l.add(Load{At: began.Add(loadEvery - 1), PerSecond: 20, Failed: 3, P50: 2, P99: 7, CommitP99: 3, DiskFree: 7,
		DiskTotal: 9})
	l.add(Load{At: began.Add(loadEvery), PerSecond: 1})
	all := l.all()
	want := Load{At: began, PerSecond: 15, Failed: 2, P50: 2, P99: 9, CommitP99: 3, DiskFree: 7, DiskTotal: 9}
	if len(all) != 2 || all[0] != want || all[1].PerSecond != 1 {
		t.Errorf("%+v", all)
	}
}

// TestLeaderChangesAreNoticed between two statuses: the first status is no change, and neither are an older term, a
// silent host, or a shard without a leader.
func TestLeaderChangesAreNoticed(t *testing.T) {
	var hi history
	began := time.Now()
	status := func(name string, term, leader uint64) client.HostStatus {
		return client.HostStatus{Name: name, Meta: client.ShardStatus{Term: 1, Leader: 1},
			Shards: []client.ShardStatus{{ID: 7, Term: term, Leader: leader}}}
	}
	for i, hosts := range [][]client.HostStatus{
		{status("a", 4, 1), status("b", 4, 1)}, {status("a", 4, 1), {}}, {status("a", 3, 9), status("b", 6, 2)},
		{status("a", 7, 0), status("b", 6, 2)}, {status("a", 7, 3), status("b", 6, 2)},
	} {
		hi.add(hosts, began.Add(time.Duration(i)*time.Second))
	}
	want := []LeaderChange{{began.Add(2 * time.Second), 7, 2, 6}, {began.Add(4 * time.Second), 7, 3, 7}}
	if got := hi.leaderChanges(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for i := range uint64(leaderChangesKept) {
		hi.add([]client.HostStatus{status("a", 8+i, 1)}, began)
	}
	if got := hi.leaderChanges(); len(got) != leaderChangesKept || got[0].Term != 8 {
		t.Errorf("%d are kept, from term %d on", len(got), got[0].Term)
	}
}

// TestTheLoadOfEachHostIsKept, also while the host is silent, until the host is no longer listed.
func TestTheLoadOfEachHostIsKept(t *testing.T) {
	st := newStage(t, nil, servertest.Hosts(3))
	st.cluster.Host(2).ReportLoad(server.Load{Span: time.Second, Requests: 7})
	if r := st.get("/v1/host/load?host=host-2"); r.code != 200 || !strings.Contains(r.text, `"requests_per_second":7`) {
		t.Errorf("%d %s", r.code, r.text)
	}
	if r := st.get("/v1/host/load?host=none"); r.code != 200 || !strings.Contains(r.text, `"items":[]`) {
		t.Errorf("%d %s", r.code, r.text)
	}
	if r := st.get("/v1/cluster/leaders"); r.code != 200 || !strings.Contains(r.text, `"items":[]`) {
		t.Errorf("%d %s", r.code, r.text)
	}
	hi := &st.gateway.history
	hi.add([]client.HostStatus{{Name: "host-1"}, {Name: "host-3"}, {ID: 2}}, time.Now())
	if len(hi.loadsOf("host-2")) == 0 {
		t.Error("the load of a silent host is forgotten")
	}
	hi.add([]client.HostStatus{{Name: "host-1"}, {Name: "host-3"}}, time.Now())
	if len(hi.loadsOf("host-2")) != 0 {
		t.Error("the load of a host that is gone is kept")
	}
}

// TestTheLoadIsThatOfTheHost with the API.
func TestTheLoadIsThatOfTheHost(t *testing.T) {
	st := newStage(t, nil)
	st.gateway.AddLoad(client.HostLoad{
		Span: 2 * time.Second, Requests: 14, P50: 500 * time.Microsecond, P99: 2 * time.Millisecond, DiskFree: 1 << 40,
	})
	r := st.get("/v1/host/load")
	const want = `"requests_per_second":7,"p50_ms":0.5,"p99_ms":2,"disk_free_bytes":"1099511627776"}`
	if r.code != 200 || !strings.Contains(r.text, want) {
		t.Errorf("%d %s", r.code, r.text)
	}
}

// TestTheLoadOfAllHosts is in the list of hosts, with a total. A host without a measurement adds nothing.
func TestTheLoadOfAllHosts(t *testing.T) {
	st := newStage(t, nil, servertest.Hosts(3))
	for id, l := range map[shard.HostID]server.Load{
		1: {Span: 5 * time.Second, Requests: 500, Failed: 5, P50: 300 * time.Microsecond, P99: 9 * time.Millisecond,
			DiskFree: 50, DiskTotal: 100},
		2: {Span: 10 * time.Second, Requests: 500, P50: 400 * time.Microsecond, P99: 2 * time.Millisecond,
			CommitP99: 1500 * time.Microsecond, DiskFree: 60, DiskTotal: 600},
	} {
		st.cluster.Host(id).ReportLoad(l)
	}
	var hosts struct {
		Items []struct {
			ID   string
			Load struct {
				PerSecond float64 `json:"requests_per_second"`
				P99       float64 `json:"p99_ms"`
			}
		}
	}
	st.get("/v1/hosts").in(t, &hosts)
	for _, h := range hosts.Items {
		want := map[string]float64{"1": 100, "2": 50}[h.ID]
		if h.Load.PerSecond != want {
			t.Errorf("%+v, want %v a second", h, want)
		}
	}
	r := st.get("/v1/cluster/load")
	if len(hosts.Items) != 3 || r.code != 200 || !strings.Contains(r.text, `"requests_per_second":150,"failed_per_second":1,`+
		`"p50_ms":0.4,"p99_ms":9,"commit_p99_ms":1.5,"disk_free_bytes":"60","disk_total_bytes":"600","hosts":3}`) {
		t.Errorf("%d hosts; %d %s", len(hosts.Items), r.code, r.text)
	}
}

// TestLoadsOfAllHostsAreFarEnoughApart: frequent requests add no loads, and after a gap the loads begin anew.
func TestLoadsOfAllHostsAreFarEnoughApart(t *testing.T) {
	var l wholeLoads
	began := time.Now()
	for _, step := range []struct {
		after time.Duration
		hosts int
		kept  int
	}{
		{0, 3, 1}, {loadEvery - 1, 3, 1}, {loadEvery, 3, 2}, {2 * loadEvery, 0, 2}, {3 * loadEvery, 3, 3},
		{3*loadEvery + loadGap, 3, 4}, {3*loadEvery + 2*loadGap + 1, 3, 1}, {3*loadEvery + 4*loadGap, 0, 0},
	} {
		got := l.add(ClusterLoad{Load: Load{At: began.Add(step.after)}, Hosts: step.hosts})
		if len(got) != step.kept {
			t.Errorf("after %v: %d are kept, want %d", step.after, len(got), step.kept)
		}
	}
}

// TestLoadsOfAllHostsAreKeptBetweenViewers: a newly opened console shows the past.
func TestLoadsOfAllHostsAreKeptBetweenViewers(t *testing.T) {
	st := newStage(t, nil, servertest.Hosts(3))
	for id := range shard.HostID(3) {
		st.cluster.Host(id + 1).ReportLoad(server.Load{Span: time.Second, Requests: 7})
	}
	kept := func() []ClusterLoad {
		st.gateway.whole.mu.Lock()
		defer st.gateway.whole.mu.Unlock()
		return st.gateway.whole.kept
	}
	await(t, "a load of all hosts", func() bool {
		st.gateway.AddLoad(client.HostLoad{Span: time.Second, Requests: 7})
		return len(kept()) > 0
	})
	if got := kept(); got[0].Hosts != 3 || got[0].PerSecond != 21 {
		t.Errorf("%+v", got)
	}
	if st.gateway.whole.due(kept()[0].At.Add(wholeEvery-1)) || !st.gateway.whole.due(kept()[0].At.Add(wholeEvery)) {
		t.Error("the next load is asked for too early, or never")
	}
}

// TestNothingIsAskedWithoutATokenAgain after a refusal: a gateway does not fill the list of refusals.
func TestNothingIsAskedWithoutATokenAgain(t *testing.T) {
	var asked atomic.Int32
	st := newStage(t, func(c *Config) {
		c.Open = func(context.Context, string) (*client.Client, error) {
			asked.Add(1)
			return nil, &protocol.Error{Status: protocol.StatusUnauthorized, Message: "a token is needed"}
		}
	})
	st.gateway.AddLoad(client.HostLoad{})
	await(t, "a question", func() bool { return asked.Load() == 1 })
	// The asking goroutine has ended once its channel's value stays.
	await(t, "the end of questions", func() bool { return len(st.gateway.measured) == 1 || st.add() })
	if asked.Load() != 1 {
		t.Errorf("%d questions", asked.Load())
	}
}

// add adds a load and returns false: the awaited load has not come yet.
func (st *stage) add() bool {
	st.gateway.AddLoad(client.HostLoad{})
	return false
}

// TestWhoMaySeeNoHostSeesNoLoad, not even the list of all hosts' loads.
func TestWhoMaySeeNoHostSeesNoLoad(t *testing.T) {
	st := newStage(t, nil, servertest.Config(func(c *server.Config) { c.Access = blind{} }))
	for _, path := range []string{"/v1/cluster/load", "/v1/cluster/leaders", "/v1/host/load?host=host-1"} {
		if r := st.get(path); r.code != 401 && r.code != 403 {
			t.Errorf("%s: %d %s", path, r.code, r.text)
		}
	}
}

// blind accepts all clients, without the right to see anything.
type blind struct{ hostcaller.Rights }

func (blind) Authenticate([]byte) (hostcaller.Rights, string, bool) { return blind{}, "nobody", true }
func (blind) Allows(_, _ string, _ protocol.Right) bool             { return false }
func (blind) Valid() bool                                           { return true }
func (blind) Version() uint64                                       { return 0 }
