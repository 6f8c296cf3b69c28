package identity

import (
	"fmt"
	"slices"
	"strings"
)

// compare returns all differences between a directory and the settings. Facts fixed at bootstrap are compared only
// after the bootstrap.
func compare(dir string, found *Identity, want *Expected) error {
	var differences []string
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	if found.HostName != want.HostName {
		differ("the directory belongs to host %s, but the host name is %s; give --name %s, or a different "+
			"--data-dir",
			found.HostName, want.HostName, found.HostName)
	}
	if found.Bootstrapped() {
		compareBootstrap(&found.Bootstrap, want, differ)
	}
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w:\n  - %s", dir, ErrMismatch, strings.Join(differences, "\n  - "))
}

// compareBootstrap compares the facts fixed at bootstrap.
func compareBootstrap(found *Bootstrap, want *Expected, differ func(format string, args ...any)) {
	switch {
	case found.ClusterName == want.ClusterName:
	case found.ClusterName == "":
		differ("the cluster has no name, but --cluster-name is %s; omit --cluster-name, or give a different "+
			"--data-dir for a different cluster",
			want.ClusterName)
	default:
		differ("the cluster has the name %s, but --cluster-name is %q; give --cluster-name %s, or a different "+
			"--data-dir for a different cluster",
			found.ClusterName, want.ClusterName, found.ClusterName)
	}
	if want.Shards != 0 && want.Shards != found.Shards {
		differ("the cluster was created with %d shards, but --shards is %d; give --shards %d or omit the setting: "+
			"signalbox shard add adds shards to a running cluster", found.Shards, want.Shards, found.Shards)
	}
	if names := initialNames(found); len(want.Hosts) > 0 && !slices.Equal(names, want.Hosts) {
		differ("%s",
			compareHosts(names, want.Hosts)+"; the list is used for bootstrap only: restore "+
				"SIGNALBOX_INITIAL_HOSTS="+formatHosts(
				found.InitialMembers)+", or omit the list")
	}
}

func initialNames(b *Bootstrap) []string {
	names := make([]string, 0, len(b.InitialMembers))
	for _, f := range b.InitialMembers {
		names = append(names, f.Name)
	}
	return names
}

// compareHosts describes how the host list differs from the initial members.
func compareHosts(initialMembers, listed []string) string {
	var changes []string
	for _, name := range initialMembers {
		if !slices.Contains(listed, name) {
			changes = append(changes, name+" is missing")
		}
	}
	for _, name := range listed {
		if !slices.Contains(initialMembers, name) {
			changes = append(changes, name+" is new")
		}
	}
	return fmt.Sprintf("the cluster was bootstrapped with other hosts (%s)", strings.Join(changes, ", "))
}
