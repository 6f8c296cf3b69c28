package admin

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol/host"
)

// Cluster is the page /cluster: host states and the failure tolerance of the shards. Hosts and shards have the same
// form and names as in /v1/cluster. Later versions may add fields, but never remove or redefine a field.
type Cluster struct {
	ID         string
	Generation uint64
	// Governor is the id of the governor host, 0 if unknown. GovernorPages is the address of its admin pages.
	Governor      uint64
	GovernorPages string `name:"governor_admin_address"`
	// Governs reports whether the local host is the governor. Observed reports whether the governor also knows which
	// hosts are alive. If not, all observations are missing. After a change of governor, hosts are unknown until each
	// was in contact, or was silent for two seconds.
	Governs  bool
	Observed bool
	// Tolerated is the number of further hosts, in any combination, that may fail while every shard keeps its quorum;
	// -1 if a shard has no quorum now.
	Tolerated    *int        `name:"failure_tolerance"`
	Hosts        []host.Host // hosts in the cluster
	Shards       []host.Shard
	HealthIssues []HealthIssue `name:"health_issues"`
}

// HealthIssue is a cluster health issue, in the terms of protocol/health.
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
	Governs       bool
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

// tolerance responds with 200 if every shard can lose a host, and with 503 otherwise, or if a new governor does not
// know yet which hosts are alive. Only the governor knows the answer; any other host names the governor.
func (p *pages) tolerance(w http.ResponseWriter, _ *http.Request) {
	c, err := p.host.Cluster()
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	shown := Tolerance{Governs: c.Governs, Observed: c.Observed, GovernorPages: c.GovernorPages, Tolerated: c.Tolerated}
	code := http.StatusServiceUnavailable
	switch {
	case !c.Governs:
		code = http.StatusMisdirectedRequest
	case c.Tolerated != nil && *c.Tolerated > 0:
		code = http.StatusOK
	}
	if c.Observed {
		shown.Shards = c.Shards
	}
	writeShape(w, code, shown)
}

// writeShape writes values in the form shared by the HTTP API and the CLI.
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
