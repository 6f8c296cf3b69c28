package birth

import (
	"fmt"
	"slices"
	"strings"
)

// Place is a host in the list of the first hosts of a cluster.
type Place struct {
	Name string `json:"name"`
	// Raft is the address of the host for other hosts.
	Raft string `json:"raft"`
}

// Plan is what the settings of all hosts agree on before the cluster is born.
type Plan struct {
	// Cluster is the name for the cluster, empty for none.
	Cluster string `json:"cluster,omitempty"`
	Shards  int    `json:"shards"`
	// Hosts are in the order of their ids, from 1 on. The first host decides.
	Hosts []Place `json:"hosts"`
}

// decider is the name of the deciding host.
func (p *Plan) decider() string { return p.Hosts[0].Name }

// has reports whether a host is in the list.
func (p *Plan) has(name string) bool {
	return slices.ContainsFunc(p.Hosts, func(h Place) bool { return h.Name == name })
}

// compare returns how the settings of another host differ, empty without differences.
func (p *Plan) compare(theirs *Plan) string {
	var differences []string
	differ := func(setting, ours, theirs string) {
		if ours != theirs {
			differences = append(differences, fmt.Sprintf("%s is %q here and %q there", setting, ours, theirs))
		}
	}
	differ("--initial-hosts", FormatPlaces(p.Hosts), FormatPlaces(theirs.Hosts))
	differ("--cluster-name", p.Cluster, theirs.Cluster)
	differ("--shards", fmt.Sprint(p.Shards), fmt.Sprint(theirs.Shards))
	return strings.Join(differences, "; ")
}

// FormatPlaces shows hosts in the notation of the settings.
func FormatPlaces(hosts []Place) string {
	var items []string
	for _, h := range hosts {
		items = append(items, h.Name+"="+h.Raft)
	}
	return strings.Join(items, ",")
}
