package governor

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

var (
	seeds = flag.Uint64("governor.seeds", 150, "how many worlds are simulated")
	look  = flag.Uint64("governor.search", 100, "how many seeds are looked through for one that notices a planted bug")
	from  = flag.Uint64("governor.from", 0, "the seed of the first of them")
)

// without drops a rule.
func without(rule string) func(*simulation) {
	return func(s *simulation) {
		s.planner.Rules = slices.DeleteFunc(s.planner.Rules, func(r plan.Rule[*hosts.Records, *Seen, Action]) bool {
			return r.Name == rule
		})
	}
}

// seeing changes what the governor sees.
func seeing(lie func(s *simulation, v *View)) func(*simulation) {
	return func(s *simulation) { s.lie = lie }
}

// planted are mistakes that the simulation must notice, each with a seed that does.
var planted = []struct {
	name  string
	seed  uint64
	spoil func(*simulation)
	says  string // what must be in the words of the invariant, where more than one could notice it
}{
	{"no host is ever silent", 20, seeing(func(_ *simulation, v *View) {
		for i := range v.Seen.Hosts {
			v.Seen.Hosts[i].SilentFor, v.Seen.Hosts[i].Tried = 0, true
		}
	}), "voters are alive"},
	{"every learner is up to date", 0, seeing(func(_ *simulation, v *View) {
		for i := range v.Seen.Shards {
			for k := range v.Seen.Shards[i].Replicas {
				v.Seen.Shards[i].Replicas[k].BehindFor = 0
			}
		}
		for i := range v.Seen.Hosts {
			v.Seen.Hosts[i].FreshFor = 1 << 20
		}
	}), ""},
	{"cordons are not seen", 5, seeing(func(_ *simulation, v *View) {
		for _, h := range v.State.Hosts() {
			if h.Cordoned {
				v.State.Cordon(hosts.At{}, h.Name, false)
			}
		}
	}), ""},
	{"domains are not seen", 2, seeing(func(_ *simulation, v *View) {
		for range v.State.Hosts() {
			for _, h := range v.State.Hosts() {
				v.State.Alter(hosts.At{}, h.Name, hosts.Domain{{Key: "dc", Value: "a"}})
			}
		}
	}), ""},
	{"the engine takes changes for other memberships", 1, func(s *simulation) { s.noCAS = true }, "meets"},
	{"executors act for what is not allowed any more", 46, func(s *simulation) { s.noJudge = true },
		"voters are alive"},
	{"leaders move for ever", 0, func(s *simulation) {
		i := slices.IndexFunc(s.planner.Rules, func(r plan.Rule[*hosts.Records, *Seen,
			Action]) bool {
			return r.Name == "leaders"
		})
		s.planner.Rules[i].Find = func(v View) plan.Finding[Action] {
			var f finding
			for _, g := range groups(v) {
				if to := g.successor(g.seen.Leader); to != nil && g.shard.ID != hosts.Meta {
					f.propose(v, KindTransfer, Action{Shard: g.shard.ID, From: g.seen.Leader, Host: to.Host})
				}
			}
			return plan.Finding[Action](f)
		}
	}, "on and on"},
	{"no rule failed", 5, without("failed"), ""},
	{"no rule leaving", 3, without("leaving"), ""},
	{"no rule dead", 0, without("dead"), ""},
	{"no rule few", 0, without("few"), ""},
	{"no rule online", 0, without("online"), ""},
	{"no rule expelled", 0, without("expelled"), ""},
	{"no rule excess", 1, without("excess"), ""},
	{"no rule clear", 1, without("clear"), ""},
	{"no rule copies", 0, without("copies"), ""},
	{"no rule domains", 1, without("domains"), ""},
	{"no rule leaders", 2, without("leaders"), ""},
}

func TestPlantedBugsAreNoticed(t *testing.T) {
	for _, b := range planted {
		t.Run(b.name, func(t *testing.T) {
			broken := run(b.seed, b.spoil, map[string]int{})
			if broken == "" || !strings.Contains(broken, b.says) {
				t.Errorf("seed %d does not notice it%s", b.seed, search(b.spoil, b.says))
			}
			t.Log(broken[:min(len(broken), 160)])
		})
	}
}

// search names a seed that notices a bug, for when the simulation has changed.
func search(spoil func(*simulation), says string) string {
	for seed := range *look {
		if broken := run(seed, spoil, map[string]int{}); broken != "" && strings.Contains(broken, says) {
			return fmt.Sprintf("; seed %d does", seed)
		}
	}
	return "; nor does any other"
}
