package admin

import (
	"encoding/json"
	"net/http"
)

// Cluster is what /cluster shows: how the hosts are, and what the shards can lose. Fields may be added to it, and none
// is taken away or changes its meaning.
type Cluster struct {
	ID         string `json:"id"`
	Generation uint64 `json:"generation"`
	// Governor is the host that governs the cluster, 0 where none is known; GovernorPages is where its pages are.
	Governor      uint64 `json:"governor_host_id"`
	GovernorPages string `json:"governor_admin_address,omitempty"`
	// Observed: this host governs, and has heard from the others. Otherwise all that it would observe is missing.
	Observed bool `json:"observed"`
	// Tolerated is how many more hosts may fail, whichever they are, and every shard goes on; -1 where one of them has
	// no majority now.
	Tolerated *int        `json:"failures_tolerated,omitempty"`
	Hosts     []Member    `json:"hosts"`
	Shards    []Placement `json:"shards"`
	Concerns  []Concern   `json:"concerns"`
}

// Member is a host that belongs to the cluster.
type Member struct {
	ID          uint64 `json:"id"`
	Name        string `json:"name"`
	Incarnation string `json:"incarnation,omitempty"`
	// Current is what it is, Target what it is to be, and Reason why, for so long.
	Current       string  `json:"current"`
	Target        string  `json:"target"`
	Reason        string  `json:"reason"`
	SinceSeconds  float64 `json:"since_seconds"`
	Cordoned      bool    `json:"cordoned,omitempty"`
	Domain        string  `json:"failure_domain,omitempty"`
	RaftAddress   string  `json:"raft_address"`
	ClientAddress string  `json:"client_address,omitempty"`
	AdminAddress  string  `json:"admin_address,omitempty"`
	Version       string  `json:"version,omitempty"`
	Level         int     `json:"newest_level,omitempty"`
	// Alive is observed.
	Alive *bool `json:"alive,omitempty"`
}

// Placement is a shard with the hosts that have it. The meta shard has the id 0.
type Placement struct {
	ID       uint64   `json:"id"`
	Leader   uint64   `json:"leader_host_id"`
	Voters   []uint64 `json:"voter_host_ids"`
	Learners []uint64 `json:"learner_host_ids"`
	// What follows is observed.
	*Redundancy
}

// Redundancy is what a shard can lose and go on.
type Redundancy struct {
	Wanted int `json:"voters_wanted"`
	Live   int `json:"voters_alive"`
	// Tolerated is how many more voters may fail, -1 where too few live already.
	Tolerated int          `json:"failures_tolerated"`
	Domains   []DomainLoss `json:"failure_domains,omitempty"`
}

// DomainLoss says whether the shard goes on without all hosts that share a label.
type DomainLoss struct {
	Label     string `json:"label"`
	Live      int    `json:"voters_alive"`
	Tolerated bool   `json:"tolerated"`
}

// Concern is something that is not as it should be, and what to do about it.
type Concern struct {
	Severity string   `json:"severity"`
	Code     string   `json:"code"`
	Text     string   `json:"text"`
	Mend     string   `json:"mend,omitempty"`
	Host     uint64   `json:"host_id,omitempty"`
	Shards   []uint64 `json:"shard_ids,omitempty"`
}

// Tolerance is what /health/tolerance shows.
type Tolerance struct {
	Observed      bool        `json:"observed"`
	GovernorPages string      `json:"governor_admin_address,omitempty"`
	Tolerated     *int        `json:"failures_tolerated,omitempty"`
	Shards        []Placement `json:"shards,omitempty"`
}

func (p *pages) cluster(w http.ResponseWriter, _ *http.Request) {
	c, err := p.host.Cluster()
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	writeJSON(w, http.StatusOK, c)
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
	writeJSON(w, code, shown)
}

func writeJSON(w http.ResponseWriter, code int, shown any) {
	text, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		writeText(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n'))
}
