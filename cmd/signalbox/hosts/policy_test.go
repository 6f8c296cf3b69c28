package hosts

import (
	"testing"

	"github.com/signalbox/signalbox/client/admin"
)

// TestATierOfFewHostsIsWarnedOf: with fewer than three hosts the meta shard tolerates no failure. Expelled hosts do not
// count.
func TestATierOfFewHostsIsWarnedOf(t *testing.T) {
	in := func(state admin.State) admin.Host {
		return admin.Host{Target: admin.HostState{State: state}, Domain: admin.Domain{{Key: "role", Value: "control"}}}
	}
	two := []admin.Host{in(admin.Online), {Target: admin.HostState{State: admin.Online}}, in(admin.Expelled),
		in(admin.Offline)}
	const want = "only 2 hosts have the label: the meta shard will have as many voters, and tolerate no failure"
	if got := thinTier(&admin.Cluster{Hosts: two}, "role=control"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := thinTier(&admin.Cluster{Hosts: append(two, in(admin.Online))}, "role=control"); got != "" {
		t.Errorf("of three: %q", got)
	}
}
