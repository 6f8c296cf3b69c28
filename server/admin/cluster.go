package admin

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol/host"
)

// Cluster is the page /cluster: the state of the hosts, and how much the shards can lose. Hosts and shards are the
// hosts and shards of /v1/cluster, with the names used there. Later versions may add fields, and remove or redefine
// none.
type Cluster struct {
	ID         string
	Generation uint64
	// Governor is the host that governs the cluster, 0 if unknown; GovernorPages is the address of its pages.
	Governor      uint64
	GovernorPages string `name:"governor_admin_address"`
	// Observed: this host governs, and has heard from the other hosts. If not, all observations are missing.
	Observed bool
	// Tolerated is how many more hosts may fail, in any choice, and every shard goes on; -1 if a shard has no majority
	// now.
	Tolerated    *int        `name:"failure_tolerance"`
	Hosts        []host.Host // hosts that belong to the cluster
	Shards       []host.Shard
	HealthIssues []HealthIssue `name:"health_issues"`
}

// HealthIssue is a health issue of the cluster, in the terms of protocol/health.
type HealthIssue struct {
	Kind     string   `json:"kind"`
	Severity string   `json:"severity"`
	Subject  string   `json:"subject"`
	Node     string   `json:"node,omitempty"`
	Name     string   `json:"name,omitempty"`
	Host     string   `json:"host,omitempty"`
	Shards   []string `json:"shards,omitempty"`
	Since    string   `json:"since,omitempty"`
	WaitsFor string   `json:"waiting_for,omitempty" name:"waiting_for"`
	Do       string   `json:"hint,omitempty" name:"hint"`
	Text     string   `json:"message" name:"message"`
	More     int      `json:"omitted,omitempty" name:"omitted"`
}

// Tolerance is the page /health/failure-tolerance.
type Tolerance struct {
	Observed      bool
	GovernorPages string `name:"governor_admin_address"`
	Tolerated     *int   `name:"failure_tolerance"`
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

// tolerance answers with 200 if every shard can lose a host, and with 503 if a shard cannot. A host that does not
// govern does not know, and names the governing host.
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

// writeShape writes values that HTTP and the tool show too, by the rule of HTTP and the tool.
func writeShape(w http.ResponseWriter, code int, shown any) {
	text, err := apijson.Encode(shown)
	writeJSON(w, code, json.RawMessage(text), err)
}

func writeJSON(w http.ResponseWriter, code int, shown any, err error) {
	text, broken := json.MarshalIndent(shown, "", "  ")
	if err := errors.Join(err, broken); err != nil {
		writeText(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	write(w, code, "application/json", append(text, '\n'))
}
