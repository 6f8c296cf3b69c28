package settings

import (
	"net"
	"strconv"
	"strings"
)

// checkListeners checks the listener addresses and the advertised addresses.
func (c *checker) checkListeners() {
	s := c.settings
	type listener struct{ setting, address string }
	var all []listener
	for _, l := range []listener{
		{"listen", s.Listen}, {"tls-listen", s.TLSListen}, {"raft-listen", s.RaftListen},
		{"admin-listen", s.AdminListen}, {"http-listen", s.HTTPListen},
	} {
		listed := l.setting == "raft-listen" && s.raftFromList() // checked with the list
		switch {
		case c.rejected(l.setting):
			continue
		case l.address == Off && !listed:
			if l.setting == "raft-listen" && !s.alone {
				c.reject(l.setting, "required for a host with other initial hosts",
					"give an address, such as "+DefaultRaftListen)
			}
			continue
		case !listed:
			if problem, remedy := checkAddress(l.address, s.AnyPort && l.setting != "raft-listen"); problem != "" {
				c.reject(l.setting, c.subject(l.setting, l.address)+" "+problem, remedy)
				continue
			}
		}
		for _, other := range all {
			if clash(other.address, l.address) && l.setting == "http-listen" && s.httpByDefault {
				s.HTTPListen = Off
				break
			}
			if clash(other.address, l.address) {
				c.reject(l.setting, c.subject(l.setting, l.address)+" conflicts with "+other.setting+", "+other.address,
					"give each listener its own port")
			}
		}
		all = append(all, l)
	}
	if !s.ServesPlain() && !s.ServesTLS() {
		c.reject("listen", "there is no listener for clients", "give --listen ADDRESS or --tls-listen ADDRESS")
	}
	if s.Pprof && !s.ServesAdmin() {
		c.reject("pprof", "the listener is off", "give --admin-listen ADDRESS too, or omit --pprof")
	}
	if s.WantsHTTP() && s.TLSClientCA != "" && !c.rejected("http-listen") {
		c.reject("http-listen", "the HTTP API cannot forward client certificates to other hosts",
			"omit --http-listen or --tls-client-ca")
	}
	if s.HTTPPeerCA != "" && !s.ServesHTTP() {
		c.reject("http-peer-ca", "the listener is off", "give --http-listen ADDRESS too")
	}
	if !c.rejected("advertise", "listen", "tls-listen") {
		c.checkAdvertised("advertise", s.Advertise, "clients can reach", s.AnyPort)
	}
	c.checkRaftAdvertise()
}

func (c *checker) checkRaftAdvertise() {
	s := c.settings
	if c.rejected("raft-advertise", "raft-listen", "initial-hosts", "name") {
		return
	}
	switch listed := addressOf(s.InitialHosts, s.Name); {
	case !s.ServesHosts():
		if s.RaftAdvertise != "" {
			c.reject("raft-advertise", "there is no listener for other hosts",
				"give --raft-listen ADDRESS too, or omit --raft-advertise")
		}
	case s.alone:
		c.checkAdvertised("raft-advertise", s.RaftAdvertise, "other hosts can reach", false)
	case s.RaftAdvertise != listed:
		c.reject("raft-advertise", c.subject("raft-advertise",
			s.RaftAdvertise)+" is not "+listed+", the address in the list of hosts for "+s.Name,
			"give the same address in both, or only in the list")
	}
}

// checkAdvertised rejects an advertised address that is invalid or useless on other machines.
func (c *checker) checkAdvertised(setting, address, purpose string, anyPort bool) {
	host, port, _ := net.SplitHostPort(address)
	if problem, remedy := checkAddress(address, anyPort); problem != "" {
		c.reject(setting, c.subject(setting, address)+" "+problem, remedy)
	} else if isWildcard(host) {
		c.reject(setting,
			c.subject(setting, address)+" is a wildcard address, which other machines cannot use",
			"give an address that "+purpose+", such as --"+setting+" "+DefaultName+".example.com:"+port)
	}
}

// raftFromList reports whether the local host listens for other hosts on its address in the list.
func (s *Settings) raftFromList() bool {
	return !s.alone && s.RaftListen == wildcard(addressOf(s.InitialHosts, s.Name))
}

// checkAddress returns the mistake in HOST:PORT, as the rest of a sentence after the address, or two empty texts.
// Port 0 is a mistake unless anyPort is true.
func checkAddress(address string, anyPort bool) (problem, remedy string) {
	const form = "write HOST:PORT, such as 127.0.0.1:7420"
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		if strings.Count(address, ":") > 1 && !strings.ContainsAny(address, "[/") {
			return "is not an address", "write an IPv6 address in brackets, such as [::1]:7420"
		}
		return "is not an address", form
	}
	number, err := strconv.Atoi(port)
	switch {
	case err != nil || number < 0 || number > 65535:
		return "has an invalid port", "give a port from 1 to 65535"
	case number == 0 && !anyPort:
		return "would get a new port at every start", "give a port from 1 to 65535"
	case len(address) > MaxAddress:
		return "is longer than " + strconv.Itoa(MaxAddress) + " bytes", form
	case strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`/\,;"'`,
			r)
	}):
		return "has a character that is not valid in a host name", form
	}
	return "", ""
}

// isWildcard reports whether an address's host part means all addresses on a machine.
func isWildcard(host string) bool {
	return host == "" || net.ParseIP(host).IsUnspecified()
}

// isLoopback reports whether an address is reachable from this machine only. A name other than localhost does not
// count, because it would have to be resolved first.
func isLoopback(address string) bool {
	host := hostOf(address)
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") || net.ParseIP(host).IsLoopback()
}

// clash reports whether two listeners cannot both use their addresses.
func clash(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	if hostA == hostB || isWildcard(hostA) || isWildcard(hostB) {
		return true
	}
	return isLoopback(a) && isLoopback(b) && (isHostname(hostA) || isHostname(hostB))
}

// isHostname reports whether a host is given by name instead of IP address.
func isHostname(host string) bool { return net.ParseIP(host) == nil }
