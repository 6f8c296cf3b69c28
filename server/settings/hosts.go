package settings

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/server/bootstrap"
	"github.com/signalbox/signalbox/shard"
)

// InitialHost is a host at the cluster's bootstrap.
type InitialHost = bootstrap.InitialHost

// ParseHosts parses a comma-separated list of NAME=ADDRESS, and returns the hosts sorted by name.
func ParseHosts(text string) ([]InitialHost, error) {
	var hosts []InitialHost
	for _, item := range items([]string{text}) {
		name, address, _ := strings.Cut(item, "=")
		name, address = strings.TrimSpace(name), strings.TrimSpace(address)
		if name == "" || address == "" {
			return nil, bad(fmt.Sprintf("%q is not a host with an address", item),
				"write hosts as NAME=ADDRESS, such as a=10.0.0.1:7421")
		}
		hosts = append(hosts, InitialHost{Name: name, Raft: address})
	}
	slices.SortStableFunc(hosts, func(a, b InitialHost) int { return strings.Compare(a.Name, b.Name) })
	return hosts, nil
}

// FormatHosts is the reverse of ParseHosts.
func FormatHosts(hosts []InitialHost) string { return bootstrap.FormatInitialHosts(hosts) }

// HostID returns the host's id: the index of its name among the sorted names, starting at 1; 0 for an unlisted name.
func (s *Settings) HostID() shard.HostID {
	return shard.HostID(1 + slices.IndexFunc(s.InitialHosts, func(h InitialHost) bool { return h.Name == s.Name }))
}

// addressOf returns a host's address in the list, empty for an unlisted host.
func addressOf(hosts []InitialHost, name string) string {
	for _, h := range hosts {
		if h.Name == name {
			return h.Raft
		}
	}
	return ""
}

func (c *checker) checkHost() {
	s := c.settings
	if s.DataDir == "" {
		c.reject("data-dir", "no directory is given", "give one, such as ./"+DefaultDataDir)
	}
	if s.Name == "" && !c.rejected("name", "initial-hosts") {
		c.reject("name", "the host name is missing", "choose a listed host: "+names(s.InitialHosts))
	}
	if s.Name != "" && !c.rejected("name") && !isName(s.Name, MaxHostName) {
		c.reject("name", "invalid host name", nameRule(MaxHostName))
	}
	if s.ClusterName != "" && !isName(s.ClusterName, MaxClusterName) {
		c.reject("cluster-name", "invalid cluster name", nameRule(MaxClusterName))
	}
	if !c.rejected("shards") && (s.Shards < 0 || s.Shards > MaxShards) {
		c.reject("shards", "the data shard count is out of range",
			fmt.Sprintf("give 1 to %d, or omit the setting for %d", MaxShards, DefaultShards))
	}
}

func (c *checker) checkHosts() {
	s := c.settings
	if c.rejected("initial-hosts") || s.alone {
		return
	}
	if len(s.InitialHosts) > MaxHosts {
		c.reject("initial-hosts", fmt.Sprintf("%d hosts", len(s.InitialHosts)),
			fmt.Sprintf("give at most %d; 3 or 5 are usual", MaxHosts))
	}
	if s.Name != "" && !c.rejected("name") && addressOf(s.InitialHosts, s.Name) == "" {
		c.reject("name", c.subject("name", s.Name)+" is not in the host list",
			"choose a listed host ("+names(s.InitialHosts)+
				"), or add --initial-hosts "+s.Name+"=ADDRESS on every host")
	}
	for i, h := range s.InitialHosts {
		c.checkFirstHost(h, s.InitialHosts[:i])
	}
	c.checkLoopback()
	if len(s.InitialHosts) == 2 {
		s.warnings = append(s.warnings,
			"a cluster with two hosts stops if one host stops; a cluster with three hosts continues")
	}
}

// checkFirstHost checks a listed host individually and against the preceding hosts.
func (c *checker) checkFirstHost(h InitialHost, before []InitialHost) {
	if !isName(h.Name, MaxHostName) {
		c.reject("initial-hosts", strconv.Quote(h.Name)+" is not a valid host name", nameRule(MaxHostName))
	}
	if problem, remedy := checkAddress(h.Raft, false); problem != "" {
		c.reject("initial-hosts", "the address "+h.Raft+" of "+h.Name+" "+problem, remedy)
	} else if host, _, _ := net.SplitHostPort(h.Raft); isWildcard(host) {
		c.reject("initial-hosts",
			"the address "+h.Raft+" of "+h.Name+" is a wildcard address, which other hosts cannot use",
			"give an address that other hosts can reach, and --raft-listen with "+h.Name)
	}
	for _, other := range before {
		switch {
		case other.Name == h.Name:
			c.reject("initial-hosts", h.Name+" is listed twice", "list every host once")
		case other.Raft == h.Raft:
			c.reject("initial-hosts", other.Name+" and "+h.Name+" share the address "+h.Raft, "give each "+
				"host its own address")
		}
	}
}

// checkLoopback rejects a list with both loopback and other addresses: a loopback address always means the local
// machine, so every host would look for the listed host on its own machine.
func (c *checker) checkLoopback() {
	var inside, outside string
	for _, h := range c.settings.InitialHosts {
		if isLoopback(h.Raft) {
			inside = h.Name
		} else {
			outside = h.Name
		}
	}
	if inside != "" && outside != "" {
		c.reject("initial-hosts", fmt.Sprintf("the address of %s is reachable from the local machine only, but %s "+
			"is on a different machine",
			inside, outside),
			"give host "+inside+" an address reachable from all hosts")
	}
}

func names(hosts []InitialHost) string {
	var list []string
	for _, h := range hosts {
		list = append(list, h.Name)
	}
	return strings.Join(list, ", ")
}

// isName reports whether a text is a valid host or cluster name. Names appear in lists, addresses and metric labels,
// so characters with a meaning there are not allowed.
func isName(s string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r))
	})
}

func nameRule(most int) string {
	return fmt.Sprintf("use 1 to %d letters, digits, dots, dashes and underscores", most)
}
