package settings

import (
	"cmp"
	"net"
	"slices"
	"strings"
)

// complete fills what follows from other settings. What cannot follow because they are wrong stays
// empty: check tells about them.
func (s *Settings) complete(n *notebook) {
	s.Hosts = slices.Clone(s.Hosts)
	slices.SortStableFunc(s.Hosts, func(a, b FirstHost) int { return strings.Compare(a.Name, b.Name) })
	if s.Name == "" && !n.blamed("name", "hosts") {
		switch len(s.Hosts) {
		case 0:
			s.Name = DefaultName
		case 1:
			s.Name = s.Hosts[0].Name
		}
	}
	listed := addressOf(s.Hosts, s.Name)
	s.RaftListen = wildcard(cmp.Or(s.RaftListen, listed, DefaultRaftListen))
	s.RaftAdvertise = cmp.Or(s.RaftAdvertise, listed, s.RaftListen)
	if len(s.Hosts) == 0 && !n.blamed("hosts") {
		s.alone = true
		s.Hosts = []FirstHost{{Name: s.Name, Raft: s.RaftAdvertise}}
	}

	s.TLSListen = cmp.Or(s.TLSListen, Off)
	if s.Listen == "" {
		s.Listen = Off
		if s.TLSListen == Off {
			s.Listen = DefaultListen
		}
	}
	s.AdminListen = cmp.Or(s.AdminListen, Off)
	if s.ClientAdvertise == "" {
		s.ClientAdvertise = s.TLSListen
		if s.TLSListen == Off {
			s.ClientAdvertise = s.Listen
		}
	}
}

// wildcard names the address that stands for all of a machine's, where only a port was given: the log
// wants a name or a number before the port.
func wildcard(address string) string {
	if strings.HasPrefix(address, ":") {
		return "0.0.0.0" + address
	}
	return address
}

// AdminAdvertise is the address of the admin listener as others may reach it, empty where there is none.
// A listener on all addresses is reached at the host that clients are told.
func (s *Settings) AdminAdvertise() string {
	if !s.ServesAdmin() {
		return ""
	}
	host, port, err := net.SplitHostPort(s.AdminListen)
	if err != nil || !isWildcard(host) {
		return s.AdminListen
	}
	client, _, err := net.SplitHostPort(s.ClientAdvertise)
	if err != nil {
		return s.AdminListen
	}
	return net.JoinHostPort(client, port)
}

// NamesOverHTTP are the names that this host may be asked for by over HTTP: those that were given, its own, and those
// in the addresses that other hosts and clients get.
func (s *Settings) NamesOverHTTP() []string {
	names := append(slices.Clone(s.HTTPNames), s.Name)
	for _, address := range []string{s.AdminListen, s.ClientAdvertise, s.RaftAdvertise} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			names = append(names, host)
		}
	}
	return names
}
