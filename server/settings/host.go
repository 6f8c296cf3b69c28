package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// FirstHost is a host that the cluster begins with.
type FirstHost struct {
	Name string `yaml:"name"`
	// Raft is the address at which other hosts reach it.
	Raft string `yaml:"raft"`
}

// ParseHosts reads NAME=ADDRESS, with commas between them, and returns the hosts sorted by name.
func ParseHosts(text string) ([]FirstHost, error) {
	var hosts []FirstHost
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, address, ok := strings.Cut(item, "=")
		name, address = strings.TrimSpace(name), strings.TrimSpace(address)
		if !ok || name == "" || address == "" {
			return nil, bad(fmt.Sprintf("%q is no host with its address", item),
				"write each host as NAME=ADDRESS, such as a=10.0.0.1:7421")
		}
		hosts = append(hosts, FirstHost{Name: name, Raft: address})
	}
	slices.SortStableFunc(hosts, func(a, b FirstHost) int { return strings.Compare(a.Name, b.Name) })
	return hosts, nil
}

// FormatHosts is the reverse of ParseHosts.
func FormatHosts(hosts []FirstHost) string {
	var items []string
	for _, h := range hosts {
		items = append(items, h.Name+"="+h.Raft)
	}
	return strings.Join(items, ",")
}

// HostID is the id of this host: its place among the names of all hosts, from 1 on. It is zero where
// the name is not among them.
func (s *Settings) HostID() shard.HostID {
	for i, h := range s.Hosts {
		if h.Name == s.Name {
			return shard.HostID(i + 1)
		}
	}
	return 0
}

// Members are the addresses of all hosts by their ids.
func (s *Settings) Members() map[shard.HostID]string {
	members := make(map[shard.HostID]string, len(s.Hosts))
	for i, h := range s.Hosts {
		members[shard.HostID(i+1)] = h.Raft
	}
	return members
}

// addressOf returns what the list says of a host, empty where it is not in it.
func addressOf(hosts []FirstHost, name string) string {
	for _, h := range hosts {
		if h.Name == name {
			return h.Raft
		}
	}
	return ""
}
