package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// InitialHost is a host in the initial host list.
type InitialHost struct {
	Name string `json:"name"`
	// Raft is the host's address for other hosts.
	Raft string `json:"raft"`
}

// Plan contains the settings on which all hosts must agree before the bootstrap.
type Plan struct {
	// Cluster is the cluster's name, empty for none.
	Cluster string `json:"cluster,omitempty"`
	Shards  int    `json:"shards"`
	// Access describes the source of client admission before the cluster has access rules; empty if everyone is
	// admitted.
	Access string `json:"access,omitempty"`
	// Hosts are in id order, starting with id 1. The first host is the decider.
	Hosts []InitialHost `json:"hosts"`
}

// decider returns the decider's name.
func (p *Plan) decider() string { return p.Hosts[0].Name }

// has reports whether a host is in the list.
func (p *Plan) has(name string) bool {
	return slices.ContainsFunc(p.Hosts, func(h InitialHost) bool { return h.Name == name })
}

// compare describes how another host's settings differ, or returns an empty string if they are equal.
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

// FormatInitialHosts formats hosts in the settings notation.
func FormatInitialHosts(hosts []InitialHost) string {
	var items []string
	for _, h := range hosts {
		items = append(items, h.Name+"="+h.Raft)
	}
	return strings.Join(items, ",")
}
