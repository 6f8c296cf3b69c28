package admin

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/signalbox/signalbox/internal/shape"
	"github.com/signalbox/signalbox/protocol/host"
)

// Cluster is what /cluster shows: how the hosts are, and what the shards can lose. Hosts and shards are those of
// /v1/cluster, under the same names. Fields may be added to it, and none is taken away or changes its meaning.
type Cluster struct {
	ID         string
	Generation uint64
	// Governor is the host that governs the cluster, 0 if unknown; GovernorPages is the address of its pages.
	Governor      uint64
	GovernorPages string `name:"governor_admin_address"`
	// Observed: this host governs, and has heard from the others. Otherwise all that it would observe is missing.
	Observed bool
	// Tolerated is how many more hosts may fail, in any choice, and every shard goes on; -1 if a shard has no majority
	// now.
	Tolerated *int        `name:"failures_tolerated"`
	Hosts     []host.Host // that belong to the cluster
	Shards    []host.Shard
	Concerns  []Concern
}

// Concern is something that is not well, as package concern of the protocol has it.
type Concern struct {
	Kind     string   `json:"kind"`
	Severity string   `json:"severity"`
	Subject  string   `json:"subject"`
	Node     string   `json:"node,omitempty"`
	Name     string   `json:"name,omitempty"`
	Host     string   `json:"host,omitempty"`
	Shards   []string `json:"shards,omitempty"`
	Since    string   `json:"since,omitempty"`
	WaitsFor string   `json:"waits_for,omitempty"`
	Do       string   `json:"do,omitempty"`
	Text     string   `json:"text"`
	More     int      `json:"more,omitempty"`
}

// Tolerance is what /health/tolerance shows.
type Tolerance struct {
	Observed      bool
	GovernorPages string `name:"governor_admin_address"`
	Tolerated     *int   `name:"failures_tolerated"`
	Shards        []host.Shard
}

func (p *pages) cluster(w http.ResponseWriter, _ *http.Request) {
	c, err := p.host.Cluster()
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	writeShape(w, http.StatusOK, c)
}

// tolerance answers with 200 where every shard can lose a host, and with 503 where one cannot. A host that does not
// govern cannot say, and names the one that does.
func (p *pages) tolerance(w http.ResponseWriter, _ *http.Request) {
	c, err := p.host.Cluster()
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	shown := Tolerance{Observed: c.Observed, GovernorPages: c.GovernorPages, Tolerated: c.Tolerated}
	code := http.StatusServiceUnavailable
	switch {
	case !c.Observed:
		code = http.StatusMisdirectedRequest
	case c.Tolerated != nil && *c.Tolerated > 0:
		code = http.StatusOK
	}
	if c.Observed {
		shown.Shards = c.Shards
	}
	writeShape(w, code, shown)
}

// writeShape writes what HTTP and the tool show too, by their rule.
func writeShape(w http.ResponseWriter, code int, shown any) {
	text, err := shape.Encode(shown)
	writeJSON(w, code, json.RawMessage(text), err)
}

func writeJSON(w http.ResponseWriter, code int, shown any, err error) {
	text, broken := json.MarshalIndent(shown, "", "  ")
	if err := errors.Join(err, broken); err != nil {
		writeText(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n'))
}
