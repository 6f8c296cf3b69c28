package governor

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// newPaced is a simulation with machines that become many times slower, and recover: one machine or all machines.
func newPaced(seed uint64) *simulation {
	s := newSimulation(seed)
	if seed%3 == 2 {
		s = newPart(seed)
	}
	s.paced, s.figure = true, int(seed%4)
	return s
}

// comparePaces records since when each host has had its pace, from an executor's observations.
func (s *simulation) comparePaces(x *executor, v *View) {
	if x.paces == nil {
		x.paces, x.lagged = make(map[shard.HostID]paced), make(map[shard.HostID]uint64)
	}
	for i := range v.Seen.Hosts {
		h := &v.Seen.Hosts[i]
		if s.lags(x, v, h.Host) {
			x.lagged[h.Host] = s.now
		}
		is, _ := PaceOf(v.State, v.Seen, h.Host)
		if x.paces[h.Host].is != is {
			x.paces[h.Host] = paced{is, s.now}
		}
		switch lasted := s.now - x.paces[h.Host].since; is {
		case PaceSlow:
			h.SlowFor = lasted
		case PaceSteady:
			h.SteadyFor = max(1, lasted)
		}
	}
}

// lags reports whether a host is sluggish while more than half of the other hosts are not. It follows the design page,
// without the governor's code.
func (s *simulation) lags(x *executor, v *View, id shard.HostID) bool {
	fast, all := 0, 0
	for _, h := range v.State.Hosts() {
		if h.ID == id || !h.Online() || !x.alive[h.ID] {
			continue
		}
		if all++; !s.of(h.ID).sluggish {
			fast++
		}
	}
	return s.of(id).sluggish && 2*fast > all
}

// fair checks a mark against the executor's observations: a host that becomes slow lags behind the other hosts, and a
// recovering host has not lagged for a minute.
func (s *simulation) fair(x *executor, m *SlowMark) {
	at, lagged := x.lagged[m.Host]
	if m.Slow {
		s.must(lagged && at == x.looked, "host %d counts as slow, and is as fast as the others", m.Host)
		return
	}
	s.must(!lagged || x.looked-at >= 60_000, "host %d lagged %d ms ago, and has recovered", m.Host, x.looked-at)
}

// paceInOrder checks that a slow host leads no shard that a fast host could lead, and that only slow hosts count as
// slow.
func (s *simulation) paceInOrder(online map[shard.HostID]bool) {
	if !s.paced {
		return
	}
	others := 0
	for id := range online {
		if !s.of(id).sluggish {
			others++
		}
	}
	for id := range online {
		if h := s.records.Host(id); others > 0 && len(online) > 1 {
			s.must(h.IsSlow() == s.of(id).sluggish, "host %d counts as slow: %t, and is slow: %t", id, h.IsSlow(),
				s.of(id).sluggish)
		}
	}
	for id, e := range s.engines {
		if h := s.records.Host(e.leader); h == nil || !h.IsSlow() {
			continue
		}
		for other := range e.voters() {
			h := s.records.Host(other)
			s.must(!online[other] || h.IsSlow() || h.Cordoned, "host %d is slow and leads shard %d, which %d could",
				e.leader, id, other)
		}
	}
}

// plantedPaces are bugs in slow host handling, to be detected by the simulation.
var plantedPaces = []struct {
	name  string
	seed  uint64
	spoil func(*simulation)
	says  string
}{
	{"a host moves its leaders when all are slow", 0, func(s *simulation) {
		s.mark = func(v View) *SlowMark {
			for _, h := range v.State.Hosts() {
				seen := v.Seen.host(h.ID)
				if seen == nil || h.IsSlow() || !h.Online() {
					continue
				}
				for _, f := range figures {
					if f.of(&seen.Speed) >= f.least {
						return &SlowMark{Host: h.ID, Slow: true}
					}
				}
			}
			return NextSlowMark(v)
		}
	}, "is as fast as the others"},
	{"leaders move to and fro", 14, func(s *simulation) {
		s.find("leaders", func(v View) finding {
			v.State = v.State.Clone()
			for _, h := range v.State.Hosts() {
				v.State.SetSlow(hosts.At{}, 0, h.ID, false, "")
			}
			return ruleLeaders(v)
		})
	}, "does not come to rest"},
	{"a host recovers at once", 3, func(s *simulation) {
		s.mark = func(v View) *SlowMark {
			for _, h := range v.State.Hosts() {
				if seen := v.Seen.host(h.ID); h.IsSlow() && seen != nil && seen.SteadyFor > 0 {
					return &SlowMark{Host: h.ID}
				}
			}
			return NextSlowMark(v)
		}
	}, "ms ago, and has recovered"},
	{"a host never recovers", 0, func(s *simulation) {
		s.mark = func(v View) *SlowMark {
			if m := NextSlowMark(v); m != nil && m.Slow {
				return m
			}
			return nil
		}
	}, "counts as slow: true, and is slow: false"},
	{"no host becomes slow", 8, func(s *simulation) {
		s.mark = func(View) *SlowMark { return nil }
	}, "counts as slow: false"},
	{"no rule slow", 37, without("slow"), "is slow and leads"},
	{"slow hosts get leaderships", 11, func(s *simulation) {
		s.find("slow", func(v View) (f finding) {
			for _, g := range groups(v) {
				if h := v.State.Host(g.seen.Leader); h != nil && h.IsSlow() && g.voter(h.ID) != nil {
					f.handOver(g, g.voter(h.ID))
					for _, m := range g.voters {
						if m.host.IsSlow() && m.Host != h.ID {
							f.Steps = []plan.Proposal[Action]{proposal(KindTransfer, Action{Shard: g.shard.ID,
								From: h.ID, Host: m.Host})}
						}
					}
				}
			}
			return f
		})
	}, ""},
}

func TestPlantedBugsAboutSlowHostsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of one goroutine")
	}
	for _, b := range plantedPaces {
		t.Run(b.name, func(t *testing.T) {
			broken := run(b.seed, newPaced, b.spoil, map[string]int{})
			if broken == "" || !strings.Contains(broken, b.says) {
				t.Errorf("seed %d does not notice it%s", b.seed, search(newPaced, b.spoil, b.says))
			}
			t.Log(broken[:min(len(broken), 160)])
		})
	}
}

// TestLeadersOfSlowHostsComeToRest: one machine or all machines become many times slower and recover, together with all
// other faults. No host counts as slow while the other hosts are equally slow, and none recovers at once. In the end
// slow hosts lead nothing, and leaders no longer move.
func TestLeadersOfSlowHostsComeToRest(t *testing.T) {
	tally := map[string]int{}
	count := *seeds
	if testing.Short() {
		count = min(count, 40)
	}
	for seed := range count {
		if broken := run(*from+seed, newPaced, nil, tally); broken != "" {
			t.Fatalf("seed %d: %s", *from+seed, broken)
		}
	}
	t.Log(tally)
	for _, what := range []string{"slow true", "slow false", "transfer"} {
		if tally[what] < int(count)/2 {
			t.Errorf("%q came about %d times in %d seeds: they show too little of it", what, tally[what], count)
		}
	}
}
