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

// seeing changes the governor's view.
func seeing(lie func(s *simulation, v *View)) func(*simulation) {
	return func(s *simulation) { s.lie = lie }
}

// planted are bugs to be detected by the simulation, each with a seed that does.
var planted = []struct {
	name  string
	seed  uint64
	spoil func(*simulation)
	says  string // words in the expected violation, if several rules could detect the bug
	part  bool   // the bug concerns shards on a subset of the hosts
}{
	{"no host is ever silent", 20, seeing(func(_ *simulation, v *View) {
		for i := range v.Seen.Hosts {
			v.Seen.Hosts[i].SilentFor, v.Seen.Hosts[i].Tried = 0, true
		}
	}), "voters are alive", false},
	{"every learner is up to date", 0, seeing(func(_ *simulation, v *View) {
		for i := range v.Seen.Shards {
			for k := range v.Seen.Shards[i].Replicas {
				v.Seen.Shards[i].Replicas[k].BehindFor = 0
			}
		}
		for i := range v.Seen.Hosts {
			v.Seen.Hosts[i].FreshFor = 1 << 20
		}
	}), "", false},
	{"cordons are not seen", 5, seeing(func(_ *simulation, v *View) {
		for _, h := range v.State.Hosts() {
			if h.Cordoned {
				v.State.Cordon(hosts.At{}, h.Name, false)
			}
		}
	}), "", false},
	{"domains are not seen", 2, seeing(func(_ *simulation, v *View) {
		for range v.State.Hosts() {
			for _, h := range v.State.Hosts() {
				v.State.Alter(hosts.At{}, h.Name, hosts.Domain{{Key: "dc", Value: "a"}})
			}
		}
	}), "", false},
	{"the engine takes changes for other memberships", 1, func(s *simulation) { s.noCAS = true }, "meets", false},
	{"executors act for what is not allowed any more", 46, func(s *simulation) { s.noJudge = true },
		"voters are alive", false},
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
	}, "on and on", false},
	{"no rule failed", 5, without("failed"), "", false},
	{"no rule leaving", 3, without("leaving"), "", false},
	{"no rule dead", 0, without("dead"), "", false},
	{"no rule few", 0, without("few"), "", false},
	{"no rule online", 0, without("online"), "", false},
	{"no rule expelled", 0, without("expelled"), "", false},
	{"no rule excess", 1, without("excess"), "", false},
	{"no rule clear", 1, without("clear"), "", false},
	{"no rule copies", 0, without("copies"), "", false},
	{"no rule domains", 1, without("domains"), "", false},
	{"no rule leaders", 2, without("leaders"), "", false},
	{"no rule places", 0, without("places"), "", true},
	{"no rule spread", 0, without("spread"), "", true},
	{"parts: no rule excess", 0, without("excess"), "voters of", true},
	{"parts: no rule domains", 6, without("domains"), "learners", true},
	{"a drain does not wait for replicas", 1, func(s *simulation) {
		s.find("leaving", func(v View) finding { return ruleLeaving(everywhere(v)) })
	}, "is drained and has", true},
	{"several learners of a host are filled at once", 0, func(s *simulation) {
		s.find("places", func(v View) (f finding) { return addAll(v, rulePlaces(v)) })
	}, "is filled", true},
	{"a move is worth the effort whatever it gains", 0, func(s *simulation) {
		s.find("spread", moveForever)
	}, "on and on", true},
	{"weights are not seen", 0, func(s *simulation) {
		s.weigh()
		s.lie = func(_ *simulation, v *View) {
			for _, h := range v.State.Hosts() {
				v.State.Weigh(hosts.At{}, h.Name, hosts.DefaultWeight)
			}
		}
	}, "", true},
	{"the tier is not seen", 3, func(s *simulation) {
		s.weigh()
		s.lie = func(_ *simulation, v *View) {
			from := v.State.Policy()
			to := from
			to.Tier = ""
			v.State.SetPolicy(hosts.At{}, from, to)
		}
	}, "", true},
	{"a learner without a place stays", 68, func(s *simulation) {
		s.find("places", func(v View) (f finding) {
			f = rulePlaces(v)
			f.Steps = slices.DeleteFunc(f.Steps, func(pr plan.Proposal[Action]) bool { return pr.Kind == KindRemove })
			return f
		})
	}, "has learners", true},
	{"the victim is not the one whose place was taken", 0, func(s *simulation) {
		s.find("excess", func(v View) (f finding) {
			for _, g := range groups(v) {
				if len(g.voters) > g.most() && g.unusable() == nil {
					f.remove(g, g.votersWith(nil)[len(g.voters)-1])
				}
			}
			return f
		})
	}, "", true},
}

// find replaces a rule's function.
func (s *simulation) find(rule string, find func(View) finding) {
	for i := range s.planner.Rules {
		if r := &s.planner.Rules[i]; r.Name == rule {
			r.Find = func(v View) plan.Finding[Action] { return plan.Finding[Action](find(v)) }
		}
	}
}

// everywhere is a view in which each shard has replicas on all hosts.
func everywhere(v View) View {
	v.State = v.State.Clone()
	from := v.State.Policy()
	to := from
	to.Replicas = 0
	v.State.SetPolicy(hosts.At{}, from, to)
	return v
}

// addAll adds all missing replicas of shards, even during transfers.
func addAll(v View, f finding) finding {
	all := groups(v)
	able, near := takers(v), peersOf(all)
	for _, g := range all {
		if to := g.bestPlace(able, near); g.spread && len(g.stay) < g.wanted && g.unusable() == nil && to != nil {
			f.place(g, to, nil)
		}
	}
	return f
}

// moveForever adds a replica of the first shard missing on a host.
func moveForever(v View) (f finding) {
	all := groups(v)
	for _, h := range takers(v) {
		for _, g := range all {
			if g.spread && g.open(h) && len(g.learners) == 0 && len(g.voters) == g.wanted && g.unusable() == nil {
				f.place(g, h, fillings(all))
			}
		}
	}
	return f
}

func TestPlantedBugsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of one goroutine")
	}
	for _, b := range planted {
		t.Run(b.name, func(t *testing.T) {
			make := newSimulation
			if b.part {
				make = newPart
			}
			broken := run(b.seed, make, b.spoil, map[string]int{})
			if broken == "" || !strings.Contains(broken, b.says) {
				t.Errorf("seed %d does not notice it%s", b.seed, search(make, b.spoil, b.says))
			}
			t.Log(broken[:min(len(broken), 160)])
		})
	}
}

// search names a seed that detects a bug, for use after a change of the simulation.
func search(make func(uint64) *simulation, spoil func(*simulation), says string) string {
	for seed := *from; seed < *from+*look; seed++ {
		if broken := run(seed, make, spoil, map[string]int{}); broken != "" && strings.Contains(broken, says) {
			return fmt.Sprintf("; seed %d does", seed)
		}
	}
	return "; nor does any other"
}
