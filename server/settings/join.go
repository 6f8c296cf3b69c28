package settings

import (
	"net"
	"path/filepath"

	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/identity"
)

// checkJoin checks a joining host's settings.
func (c *checker) checkJoin() {
	s := c.settings
	if _, err := host.ParseDomain(s.FailureDomain); err != nil {
		c.reject("failure-domain", err.Error(), "write KEY=VALUE pairs separated by commas, such as dc=a,rack=1")
	}
	if !s.Joins() {
		for _, setting := range []string{"join-token-file", "replace"} {
			given := c.text(setting) != "" || setting == "join-token-file" && s.JoinToken != ""
			if given && !c.rejected("join") {
				c.reject(setting, "the setting is for a host that joins a cluster",
					"give --join with the address of a cluster host too, or omit the setting")
			}
		}
		return
	}
	if s.HasList() {
		c.reject("join", "a host either bootstraps with its initial hosts or joins a cluster, not both",
			"omit --join, or the list of hosts")
		return
	}
	for _, address := range s.Join {
		if problem, remedy := checkAddress(address, false); problem != "" {
			c.reject("join", address+" "+problem, remedy)
		}
	}
	c.checkJoinReachable()
	if s.Replace != "" && !isName(s.Replace, MaxHostName) {
		c.reject("replace", "invalid host name", nameRule(MaxHostName))
	}
}

// checkJoinReachable rejects a joining host the cluster's hosts could not reach.
func (c *checker) checkJoinReachable() {
	s := c.settings
	if c.rejected("join", "raft-listen", "raft-advertise") {
		return
	}
	if !s.ServesHosts() {
		c.reject("raft-listen", "the cluster hosts must be able to reach this host",
			"give the address to listen on for other hosts, such as 10.0.0.4:7421")
		return
	}
	for _, address := range s.Join {
		if isLoopback(s.RaftAdvertise) && net.ParseIP(hostOf(address)) != nil && !isLoopback(address) {
			c.reject("raft-advertise", c.subject("raft-advertise", s.RaftAdvertise)+
				" is reachable from this machine only, but "+address+" is on another machine",
				"give --raft-advertise with an address that all hosts can reach")
			return
		}
	}
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// keptSecret returns the file with the secret the host received at its join, empty if it received none.
func (s *Settings) keptSecret() string {
	path := filepath.Join(s.DataDir, identity.SecretName)
	if s.DataDir == "" || unreadable(path) != "" {
		return ""
	}
	return path
}
