package settings

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

func (n *notebook) checkHost() {
	s := n.settings
	if s.DataDir == "" {
		n.blame("data-dir", "there is no directory", "name one, such as ./"+DefaultDataDir)
	}
	if s.Name == "" && !n.blamed("name", "hosts") {
		n.blame("name", "it is not said which of the hosts this one is", "give one of "+names(s.Hosts))
	}
	if s.Name != "" && !n.blamed("name") && !isName(s.Name, MaxHostName) {
		n.blame("name", "it is not a name for a host", nameRule(MaxHostName))
	}
	if s.Cluster != "" && !isName(s.Cluster, MaxClusterName) {
		n.blame("cluster", "it is not a name for a cluster", nameRule(MaxClusterName))
	}
	if !n.blamed("shards") && (s.Shards < 0 || s.Shards > MaxShards) {
		n.blame("shards", "that is no possible number of data shards",
			fmt.Sprintf("give 1 to %d, or nothing for %d", MaxShards, DefaultShards))
	}
}

func (n *notebook) checkHosts() {
	s := n.settings
	if n.blamed("hosts") || s.alone {
		return
	}
	if len(s.Hosts) > MaxHosts {
		n.blame("hosts", fmt.Sprintf("%d hosts", len(s.Hosts)), fmt.Sprintf("give at most %d; 3 or 5 are usual", MaxHosts))
	}
	if s.Name != "" && !n.blamed("name") && addressOf(s.Hosts, s.Name) == "" {
		n.blame("name", n.it("name", s.Name)+" is not in the list of hosts",
			"give one of "+names(s.Hosts)+", or add --host "+s.Name+"=ADDRESS on every host")
	}
	for i, h := range s.Hosts {
		n.checkFirstHost(h, s.Hosts[:i])
	}
	n.checkLoopback()
	if len(s.Hosts) == 2 {
		s.warnings = append(s.warnings, "a cluster of two hosts stops when either of them does; three go on without one")
	}
}

// checkFirstHost checks a host of the list against itself and those before it.
func (n *notebook) checkFirstHost(h FirstHost, before []FirstHost) {
	if !isName(h.Name, MaxHostName) {
		n.blame("hosts", strconv.Quote(h.Name)+" is not a name for a host", nameRule(MaxHostName))
	}
	if problem, remedy := checkAddress(h.Raft); problem != "" {
		n.blame("hosts", "the address "+h.Raft+" of "+h.Name+" "+problem, remedy)
	} else if host, _, _ := net.SplitHostPort(h.Raft); isWildcard(host) {
		n.blame("hosts",
			"the address "+h.Raft+" of "+h.Name+" stands for all addresses of a machine, and nobody else can use it",
			"give the address that the other hosts reach it by, and --raft-listen on "+h.Name)
	}
	for _, other := range before {
		switch {
		case other.Name == h.Name:
			n.blame("hosts", h.Name+" stands there twice", "name every host once")
		case other.Raft == h.Raft:
			n.blame("hosts", other.Name+" and "+h.Name+" have the same address "+h.Raft, "give each its own")
		}
	}
}

// checkLoopback refuses a list in which one address means this machine to whoever reads it, and another
// one does not: hosts of several machines would each find themselves there.
func (n *notebook) checkLoopback() {
	var inside, outside string
	for _, h := range n.settings.Hosts {
		if isLoopback(h.Raft) {
			inside = h.Name
		} else {
			outside = h.Name
		}
	}
	if inside != "" && outside != "" {
		n.blame("hosts", fmt.Sprintf("the address of %s is reached from its own machine only, but %s is on another", inside, outside),
			"give an address of "+inside+" that all hosts can reach")
	}
}

func names(hosts []FirstHost) string {
	var list []string
	for _, h := range hosts {
		list = append(list, h.Name)
	}
	return strings.Join(list, ", ")
}

// isName tells whether a text can name a host or a cluster: it stands in lists, addresses and labels of
// metrics, so it has no character that means something there.
func isName(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r))
	})
}

func nameRule(most int) string {
	return fmt.Sprintf("use 1 to %d letters, digits, dots, dashes and underscores", most)
}
