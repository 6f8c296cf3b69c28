package admin

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/apijson"
	kind "github.com/signalbox/signalbox/protocol/host"
)

// TestClusterKeepsItsNames compares the page with a file, because programs read it.
func TestClusterKeepsItsNames(t *testing.T) {
	one := 1
	host := &fake{cluster: Cluster{
		ID: "prod", Generation: 2, Governor: 1, GovernorPages: "a:7422", Governs: true, Observed: true, Tolerated: &one,
		Hosts: []kind.Host{{
			ID: 4, Name: "d", Incarnation: "b2000000000000000000000000000002", Starts: 2,
			Current:  kind.Standing{State: kind.Online, Reason: "started", Epoch: 1},
			Target:   kind.Standing{State: kind.Offline, Reason: "drained", Since: 1500 * time.Millisecond, Epoch: 1},
			Cordoned: true, Domain: kind.Domain{{Key: "rack", Value: "1"}}, RaftAddress: "d:7421",
			ClientAddress: "d:7420",
			AdminAddress:  "d:7422", Version: "v1.0.0", Level: 4, Alive: true,
		}},
		Shards: []kind.Shard{{
			ID: 1, Leader: 1, Replicas: []kind.Replica{{ID: 4, Host: 4, Role: kind.Voter, Observed: true}},
			Redundancy: kind.Redundancy{Wanted: 3, Voters: 3, Live: 3, Tolerated: 1,
				Domains: []kind.DomainLoss{{Label: "rack=1", Live: 2}}},
		}},
		HealthIssues: []HealthIssue{{
			Kind: "host-drained", Severity: "info", Subject: "host d", Text: "host d is drained",
			Do:   "signalbox host undrain d",
			Host: "d", Shards: []string{"1"}, Since: "2026-01-02T03:04:05Z",
		}},
	}}
	w := get(t, Handler(host, Options{}), "/cluster")
	want, err := os.ReadFile(filepath.Join("testdata", "cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" ||
		w.Body.String() != string(want) {
		t.Errorf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
}

// TestToleranceSaysWhetherAHostMayFail: the status code shows whether a host may fail, for probes and scripts.
func TestToleranceSaysWhetherAHostMayFail(t *testing.T) {
	observed := func(tolerated int) *fake {
		return &fake{cluster: Cluster{Governs: true, Observed: true, Tolerated: &tolerated,
			Shards: []kind.Shard{{
				ID: 1, Redundancy: kind.Redundancy{Wanted: 3, Live: 2 + tolerated, Tolerated: tolerated},
			}},
		}}
	}
	for what, c := range map[string]struct {
		host *fake
		code int
	}{
		"two may fail":  {observed(2), http.StatusOK},
		"one may fail":  {observed(1), http.StatusOK},
		"none may fail": {observed(0), http.StatusServiceUnavailable},
		"no majority":   {observed(-1), http.StatusServiceUnavailable},
		"not known yet": {&fake{cluster: Cluster{Governs: true, GovernorPages: "a:7422"}},
			http.StatusServiceUnavailable},
		"another host governs": {&fake{cluster: Cluster{GovernorPages: "b:7422"}}, http.StatusMisdirectedRequest},
	} {
		w := get(t, Handler(c.host, Options{}), "/health/failure-tolerance")
		var shown Tolerance
		if err := apijson.Decode(w.Body.Bytes(), &shown); err != nil || w.Code != c.code ||
			shown.Observed != c.host.cluster.Observed || shown.GovernorPages != c.host.cluster.GovernorPages {
			t.Errorf("%s: %d %s, %v", what, w.Code, w.Body, err)
		}
		if shown.Observed && (*shown.Tolerated != *c.host.cluster.Tolerated ||
			shown.Shards[0].Live != c.host.cluster.Shards[0].Live) {
			t.Errorf("%s: %s", what, w.Body)
		}
	}
	starting := &fake{unknown: errors.New("the host is starting")}
	for _, path := range []string{"/cluster", "/health/failure-tolerance"} {
		if w := get(t, Handler(starting, Options{}), path); w.Code != http.StatusServiceUnavailable ||
			w.Body.String() != "the host is starting\n" {
			t.Errorf("%s of a host that starts: %d %s", path, w.Code, w.Body)
		}
	}
}
