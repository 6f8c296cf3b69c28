package governor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/plan"
)

// TestRedundancy: the number of voters, and the domains, that a shard can lose and still continue.
func TestRedundancy(t *testing.T) {
	for name, x := range map[string]struct {
		bootstrapped []string
		dead         string
		live         int
		more         int
		losses       string
	}{
		"one":                   {[]string{"a"}, "", 1, 0, ""},
		"three":                 {[]string{"a", "b", "c"}, "", 3, 1, ""},
		"three, one dead":       {[]string{"a", "b", "c"}, "c", 2, 0, ""},
		"three, two dead":       {[]string{"a", "b", "c"}, "bc", 1, -1, ""},
		"two":                   {[]string{"a", "b"}, "", 2, 0, ""},
		"five":                  {[]string{"a", "b", "c", "d", "e"}, "", 5, 2, ""},
		"one in each domain":    {[]string{"a dc=x", "b dc=y", "c dc=z"}, "", 3, 1, "dc=x true, dc=y true, dc=z true"},
		"two in one":            {[]string{"a dc=x", "b dc=x", "c dc=y"}, "", 3, 1, "dc=x false, dc=y true"},
		"one in each, one dead": {[]string{"a dc=x", "b dc=y", "c dc=z"}, "c", 2, 0, "dc=x false, dc=y false"},
		"a rack within a center": {[]string{"a dc=x,rack=1", "b dc=x,rack=2", "c dc=x,rack=2"}, "", 3, 1,
			"dc=x false, rack=1 true, rack=2 false"},
	} {
		s := newScene(t, x.bootstrapped...)
		for _, dead := range strings.Split(x.dead, "") {
			s.dies(dead, 3000, 1)
		}
		r := Redundancies(s.View)[1]
		var losses []string
		for _, d := range r.Domains {
			losses = append(losses, fmt.Sprintf("%s %t", d.Label, d.Tolerated))
		}
		if r.Shard != 1 || r.Voters != len(x.bootstrapped) || r.Live != x.live || r.Tolerated != x.more ||
			strings.Join(losses, ", ") != x.losses {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestNewGovernorCountsOnlyHostsItHasHeard: a host died before the change of governor. The new governor does not count
// the host as live, and the view is not judged until the host was in contact or has been silent for long enough.
func TestNewGovernorCountsOnlyHostsItHasHeard(t *testing.T) {
	for name, x := range map[string]struct {
		c      HostObservation
		judged bool
		live   int
	}{
		"not tried yet":         {HostObservation{Host: 3}, false, 2},
		"tried, and not heard":  {HostObservation{Host: 3, Tried: true, SilentFor: 1900, Unheard: true}, false, 2},
		"silent for long":       {HostObservation{Host: 3, Tried: true, SilentFor: 2000, Unheard: true}, true, 2},
		"heard":                 {HostObservation{Host: 3, Tried: true, SilentFor: 1900, FreshFor: 1}, true, 3},
		"heard, and then quiet": {HostObservation{Host: 3, Tried: true, SilentFor: 2000}, true, 2},
	} {
		s := newScene(t, "a", "b", "c")
		*s.Seen.host(3) = x.c
		r := Redundancies(s.View)[1]
		if judged := Judged(s.View); judged != x.judged || r.Live != x.live || r.Tolerated != x.live-2 ||
			s.Seen.Alive(3) != (x.live == 3) {
			t.Errorf("%s: judged %t, alive %t, %+v", name, judged, s.Seen.Alive(3), r)
		}
	}
}

// TestRedundancyIsSaidOfShardsOnAPartOfTheHosts: metrics and pages ask without a plan.
func TestRedundancyIsSaidOfShardsOnAPartOfTheHosts(t *testing.T) {
	v := parts(t, 3, []string{"a", "b", "c"}, "d").View
	v.Plan = nil
	if r := Redundancies(v)[1]; r.Wanted != 3 || r.Voters != 3 || r.Live != 3 {
		t.Errorf("%+v", r)
	}
}

// TestALiveVoterIsNotRemovedByItsOwnVote: of four voters, one is dead, and the dead one is removed first. Removing a
// live voter would need its own vote, which is gone as soon as the voter has received the removal.
func TestALiveVoterIsNotRemovedByItsOwnVote(t *testing.T) {
	s := parts(t, 3, []string{"a", "b", "c", "d"})
	s.dies("d", 3000, 1)
	remove := func(name string) *plan.Reason {
		in := s.State.Shard(1)
		p := in.On(s.id(name))
		return forbidden(s.View, KindRemove, &Action{Shard: 1, Replica: p.ID, Host: p.Host, Change: in.Change})
	}
	if r := remove("c"); r == nil || r.Code != CodeQuorum {
		t.Errorf("the removal of a live voter: %v", r)
	}
	if r := remove("d"); r != nil {
		t.Errorf("the removal of the dead voter: %v", r)
	}
}

// TestTheDeadGoBeforeTheLiveThatLeave: if removing an expelled host would need its own vote, the dead voter is removed
// first.
func TestTheDeadGoBeforeTheLiveThatLeave(t *testing.T) {
	s := parts(t, 3, []string{"a", "b", "c", "d"})
	s.dies("d", 3000, 1)
	expelled := s.State.Shard(1).On(s.id("c")).ID
	s.done(s.State.Expel(s.at(), "c", true, 1000))
	var f finding
	g := groups(s.View)[1]
	f.remove(g, g.member(expelled))
	if len(f.Steps) != 1 || f.Steps[0].Payload.Host != s.id("d") {
		t.Errorf("%+v %+v", f.Steps, f.Reasons)
	}
}
