package identity

import (
	"fmt"
	"slices"
	"strings"
)

// compare returns every way in which a directory differs from what the settings expect.
func compare(dir string, found *Identity, want *Expected) error {
	var differences []string
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	if found.HostName != want.HostName {
		differ("it belongs to host %s, and this is host %s: "+
			"give --name %s, or another --data-dir for this host",
			found.HostName, want.HostName, found.HostName)
	}
	if found.ClusterName != want.ClusterName {
		if found.ClusterName == "" {
			differ("its cluster was made without a name, and --cluster is %s: "+
				"leave --cluster out, or give another --data-dir for another cluster",
				want.ClusterName)
		} else {
			differ("its cluster was made with the name %s, and --cluster is %q: "+
				"give --cluster %s, or another --data-dir for another cluster",
				found.ClusterName, want.ClusterName, found.ClusterName)
		}
	}
	if want.Shards != 0 && want.Shards != found.Shards {
		differ("its cluster was made with %d shards, and --shards is %d: "+
			"give --shards %d or leave it out; the number is fixed for the life of a cluster",
			found.Shards, want.Shards, found.Shards)
	}
	if !slices.Equal(found.FirstHosts, want.Hosts) {
		differ("%s", compareHosts(found, want))
	}
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("identity: %s: %w:\n  - %s", dir, ErrMismatch, strings.Join(differences, "\n  - "))
}

// compareHosts returns how the lists of hosts differ.
func compareHosts(found *Identity, want *Expected) string {
	const fixed = "the list is part of the replicated log and is not changed by the settings"
	if len(found.FirstHosts) == 1 && len(want.Hosts) == 1 && found.HostName == want.HostName {
		was := found.FirstHosts[0].Raft
		return fmt.Sprintf("it was made with the Raft address %s, and that is %s now: "+
			"give --raft-advertise %s, or --raft-listen %s where it is the same; the address is part of the "+
			"replicated log",
			was, want.Hosts[0].Raft, was, was)
	}
	var changes []string
	for _, h := range found.FirstHosts {
		i := slices.IndexFunc(want.Hosts, func(w Host) bool { return w.Name == h.Name })
		switch {
		case i < 0:
			changes = append(changes, h.Name+" is missing")
		case want.Hosts[i].Raft != h.Raft:
			changes = append(changes, fmt.Sprintf("%s was at %s and is at %s", h.Name, h.Raft, want.Hosts[i].Raft))
		}
	}
	for _, w := range want.Hosts {
		if !slices.ContainsFunc(found.FirstHosts, func(h Host) bool { return h.Name == w.Name }) {
			changes = append(changes, w.Name+" is new")
		}
	}
	return fmt.Sprintf("its cluster was made of other hosts (%s): give the list back as it was, SIGNALBOX_HOSTS=%s; %s",
		strings.Join(changes, ", "), formatHosts(found.FirstHosts), fixed)
}
