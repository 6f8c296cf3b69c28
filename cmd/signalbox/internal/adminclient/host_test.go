package adminclient

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/server/admin"
)

// serve serves the pages of a host that knows the other hosts.
func serve(t *testing.T, cluster string, id uint64, others map[uint64]string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		s := admin.Status{Host: admin.HostStatus{ID: id, Name: "h"}, Cluster: admin.ClusterStatus{ID: cluster}}
		for id, address := range others {
			s.Cluster.Hosts = append(s.Cluster.Hosts, admin.HostRecord{ID: id, Name: "other", AdminAddress: address})
		}
		_ = json.NewEncoder(w).Encode(s)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestTheOthersAreFoundThroughOne(t *testing.T) {
	second := serve(t, "c", 2, nil)
	stranger := serve(t, "another", 3, nil)
	first := serve(t, "c", 1, map[uint64]string{2: second, 3: stranger, 4: "127.0.0.1:1", 5: ""})
	list := Read(t.Context(), []string{first, first})
	if len(list) != 4 || list[0].Status.Host.ID != 1 || list[1].Status.Host.ID != 2 || list[0].Metrics.Sum("up") != 1 {
		t.Fatalf("%+v", list)
	}
	for _, r := range list[2:] {
		switch {
		case r.Address == stranger && strings.Contains(r.Err.Error(), "another host answers at it"):
		case r.Address == "127.0.0.1:1" && r.Err != nil:
		default:
			t.Errorf("%+v", r)
		}
	}
}

func TestAPageThatIsNone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if list := Read(t.Context(), []string{server.URL}); len(list) != 1 || list[0].Err == nil ||
		!strings.Contains(list[0].Err.Error(), "404") {
		t.Errorf("%+v", list)
	}
}
