package settings

import "net"

// checkListeners checks where the host listens and what it tells others of that.
func (n *notebook) checkListeners() {
	s := n.settings
	type listener struct{ setting, address string }
	var all []listener
	for _, l := range []listener{
		{"listen", s.Listen}, {"tls-listen", s.TLSListen}, {"raft-listen", s.RaftListen}, {"admin-listen", s.AdminListen},
	} {
		switch {
		case n.blamed(l.setting):
			continue
		case l.setting == "raft-listen":
			if s.raftFromList() {
				break // it was looked at in the list
			}
			if l.address == Off {
				n.blame(l.setting, "a host cannot do without", "give an address, such as "+DefaultRaftListen)
				continue
			}
			fallthrough
		case l.address != Off:
			if problem, remedy := checkAddress(l.address); problem != "" {
				n.blame(l.setting, n.it(l.setting, l.address)+" "+problem, remedy)
				continue
			}
		default:
			continue
		}
		if l.setting == "raft-listen" && !s.HasPeers() {
			continue // it is the host's address in the log, and nothing listens there
		}
		for _, other := range all {
			if clash(other.address, l.address) {
				n.blame(l.setting, n.it(l.setting, l.address)+" clashes with "+other.setting+", "+other.address,
					"give each a port of its own")
			}
		}
		all = append(all, l)
	}
	if !s.ServesPlain() && !s.ServesTLS() {
		n.blame("listen", "clients can connect nowhere", "give --listen ADDRESS or --tls-listen ADDRESS")
	}
	if s.Pprof && !s.ServesAdmin() {
		n.blame("pprof", "there is no listener for it", "give --admin-listen ADDRESS as well, or leave --pprof out")
	}
	n.checkClientAdvertise()
	n.checkRaftAdvertise()
}

func (n *notebook) checkClientAdvertise() {
	s := n.settings
	if n.blamed("client-advertise", "listen", "tls-listen") {
		return
	}
	if problem, remedy := checkAddress(s.ClientAdvertise); problem != "" {
		n.blame("client-advertise", n.it("client-advertise", s.ClientAdvertise)+" "+problem, remedy)
		return
	}
	n.checkTellable("client-advertise", s.ClientAdvertise, "clients reach it by")
}

func (n *notebook) checkRaftAdvertise() {
	s := n.settings
	if n.blamed("raft-advertise", "raft-listen", "hosts", "name") {
		return
	}
	if s.alone {
		if problem, remedy := checkAddress(s.RaftAdvertise); problem != "" {
			n.blame("raft-advertise", n.it("raft-advertise", s.RaftAdvertise)+" "+problem, remedy)
			return
		}
		n.checkTellable("raft-advertise", s.RaftAdvertise, "other hosts would reach it by")
		return
	}
	if listed := addressOf(s.Hosts, s.Name); s.RaftAdvertise != listed {
		n.blame("raft-advertise", n.it("raft-advertise", s.RaftAdvertise)+" is not "+listed+", which the list of hosts has for "+s.Name,
			"give the same address in both, or only the list")
	}
}

// checkTellable refuses an address that only means something to the one who listens there.
func (n *notebook) checkTellable(setting, address, purpose string) {
	host, port, _ := net.SplitHostPort(address)
	if isWildcard(host) {
		n.blame(setting, n.it(setting, address)+" stands for all addresses of this machine, and nobody else can use it",
			"give the address that "+purpose+", such as --"+setting+" "+DefaultName+".example.com:"+port)
	}
}

// raftFromList tells whether this host listens for others at the address that the list has for it.
func (s *Settings) raftFromList() bool {
	return !s.alone && s.RaftListen == wildcard(addressOf(s.Hosts, s.Name))
}
