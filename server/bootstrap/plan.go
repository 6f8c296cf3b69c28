package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// InitialHost is a host in the list of the first hosts of a cluster.
type InitialHost struct {
	Name string `json:"name"`
	// Raft is the address of the host for other hosts.
	Raft string `json:"raft"`
}

// Plan is what the settings of all hosts agree on before the cluster is bootstrapped.
type Plan struct {
	// Cluster is the name for the cluster, empty for none.
	Cluster string `json:"cluster,omitempty"`
	Shards  int    `json:"shards"`
	// Access says by what clients are let in before the cluster has access rules; empty if everybody is.
	Access string `json:"access,omitempty"`
	// Hosts are in the order of their ids, from 1 on. The first host decides.
	Hosts []InitialHost `json:"hosts"`
}

// decider is the name of the deciding host.
func (p *Plan) decider() string { return p.Hosts[0].Name }

// has reports whether a host is in the list.
func (p *Plan) has(name string) bool {
	return slices.ContainsFunc(p.Hosts, func(h InitialHost) bool { return h.Name == name })
}

// compare returns how the settings of another host differ, empty without differences.
func (p *Plan) compare(theirs *Plan) string {
	var differences []string
	differ := func(setting, ours, theirs string) {
		if ours != theirs {
			differences = append(differences, fmt.Sprintf("%s is %q here and %q there", setting, ours, theirs))
		}
	}
	differ("--initial-hosts", FormatInitialHosts(p.Hosts), FormatInitialHosts(theirs.Hosts))
	differ("--cluster-name", p.Cluster, theirs.Cluster)
	differ("--shards", fmt.Sprint(p.Shards), fmt.Sprint(theirs.Shards))
	differ("access control", cmp.Or(p.Access, "open"), cmp.Or(theirs.Access, "open"))
	return strings.Join(differences, "; ")
}

// FormatInitialHosts shows hosts in the notation of the settings.
func FormatInitialHosts(hosts []InitialHost) string {
	var items []string
	for _, h := range hosts {
		items = append(items, h.Name+"="+h.Raft)
	}
	return strings.Join(items, ",")
}
