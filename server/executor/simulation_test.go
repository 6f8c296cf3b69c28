package executor

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
)

var (
	seeds = flag.Uint64("executor.seeds", 12, "how many fleets are played")
	from  = flag.Uint64("executor.from", 0, "the seed of the first of them")
)

// bug is a bug planted below the executor, or in its inputs or outputs.
type bug uint8

const (
	bugDeaf         bug = iota + 1 // every host is heard
	bugNeverKnown                  // memberships do not come on record
	bugNeverCleared                // nor do deletions
	bugNeverDone                   // steps do not end
	bugNeverStarted                // replicas do not start
)

// simulation plays random faults and operators on a fleet.
type simulation struct {
	*fleet
	*rand.Rand
	tally map[string]int
	joins int
	// expels is how often an operator has tried to expel a host.
	expels int
	cut    shard.HostID // 0 for none
	part   bool         // data shards on a subset of the hosts
}

// turn is one event.
func (s *simulation) turn() {
	list := s.all()
	m := list[s.IntN(len(list))]
	if s.part && s.IntN(12) == 0 {
		replicas := []int{1, 3, 3, 5}[s.IntN(4)]
		s.operate(fmt.Sprint(replicas, " replicas"), func(at hosts.At, r *hosts.Records) hosts.Answer {
			to := r.Policy()
			to.Replicas = replicas
			return r.SetPolicy(at, r.Policy(), to)
		})
	}
	switch s.IntN(12) {
	case 0:
		if s.others(m) {
			m.kill()
			s.tally["killed"]++
		}
	case 1, 2:
		s.back(m)
	case 3:
		if s.cut == 0 && s.others(m) {
			s.cut = m.id
			s.net.Isolate(m.id)
			s.tally["cut off"]++
		}
	case 4:
		s.cut = 0
		s.net.HealAll()
	case 5:
		if s.joins < 3 && s.governs() {
			s.joins++
			s.join(fmt.Sprint("n", s.joins), "")
		}
	case 6:
		s.operate("drained", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Drain(at, m.name) })
	case 7:
		s.operate("undrained", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Undrain(at, m.name) })
	case 8:
		if s.expels++; s.expels <= 2 && s.others(m) {
			s.operate("expelled", func(at hosts.At, r *hosts.Records) hosts.Answer {
				return r.Expel(at, m.name, true, 1000)
			})
		}
	case 9:
		if leader := s.leader(hosts.Meta); leader != nil && s.others(leader) {
			leader.kill() // the governor
			s.tally["governor killed"]++
		}
	case 10:
		if s.others(m) {
			m.quit()
			s.tally["stopped"]++
		}
	case 11:
		id := hosts.ShardID(s.IntN(len(s.shards)))
		s.operate("wish", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Transfer(at, id, m.name) })
	}
	time.Sleep(time.Duration(s.IntN(8_000)) * time.Millisecond)
}

// operate performs an operator's action, if the meta shard accepts it now.
func (s *simulation) operate(what string, run func(hosts.At, *hosts.Records) hosts.Answer) {
	if a, done := s.try(1, run); done && a.Status == protocol.StatusSuccess {
		s.tally[what]++
	}
}

func (s *simulation) governs() bool {
	m := s.leader(hosts.Meta)
	return m != nil && !m.down() && s.governed()
}

// back starts a stopped machine that is a cluster member.
func (s *simulation) back(m *machine) {
	if h := s.records().Host(m.id); m.down() && h != nil && h.Living() {
		m.start()
	}
}

// others reports whether each shard has a majority of voters on other running machines.
func (s *simulation) others(m *machine) bool {
	for _, id := range s.shards {
		voters, live := 0, 0
		for _, on := range s.net.Group(memlog.GroupID(id)).Membership().Members {
			if on.Voter {
				voters++
				if other := s.host(on.Host); other != m && !other.down() && on.Host != s.cut {
					live++
				}
			}
		}
		if 2*live <= voters {
			return false
		}
	}
	return true
}

// play ends with a quiet fleet, and compares it with its intended state.
func (s *simulation) play(turns int) {
	s.policy(func(p *host.Policy) { p.ReplaceAfter = 20 * time.Second })
	for range turns {
		s.turn()
	}
	s.net.HealAll()
	s.until(time.Minute, "a host governs", s.governs)
	for _, m := range s.all() {
		if m.quits {
			m.kill()
		}
		s.back(m)
	}
	s.until(time.Minute, "a host governs", s.governs)
	for _, h := range s.records().Hosts() {
		s.do("undrain", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Undrain(at, h.Name) })
	}
	s.converge()
	s.inOrder()
}

// inOrder checks the final state without the governor's code: each living host has one running, complete replica of
// each shard; the number of voters follows the policy; expelled hosts have none.
func (s *simulation) inOrder() {
	r := s.records()
	living := 0
	for _, h := range r.Hosts() {
		if h.Living() {
			living++
		}
	}
	for _, id := range s.shards {
		g := s.net.Group(memlog.GroupID(id))
		m := g.Membership()
		voters := 0
		on := map[shard.HostID]bool{}
		for _, member := range m.Members {
			on[member.Host] = true
			if member.Voter {
				voters++
			}
		}
		want := map[bool]int{true: 3, false: 5}[living < 5]
		if living == 2 {
			want = 2 // three voters do not become one by themselves
		}
		members, part := living, r.Policy().Replicas != 0 && id != hosts.Meta
		if part {
			want = min(want, r.Policy().Replicas)
			members = want
		}
		if voters != want || len(m.Members) != members {
			s.violated("shard %d has %d voters of %d, and %d members of %d\n%s", id, voters, want, len(m.Members),
				members, s)
		}
		for _, h := range r.Hosts() {
			held, has := s.host(h.ID).on(id) != nil, h.Living()
			if part {
				has = on[h.ID]
			}
			if on[h.ID] != has || h.Living() && held != has {
				s.violated("host %s belongs to the cluster: %t; it has a replica of shard %d: %t, and runs it: %t",
					h.Name, h.Living(), id, on[h.ID], held)
			}
		}
		committed, replicas := g.Status()
		for _, p := range replicas {
			if p.Applied < committed {
				s.violated("replica %d of shard %d has %d of %d", p.Replica, id, p.Applied, committed)
			}
		}
	}
}

// playStory plays a story on a fleet with a planted bug, 0 for none, and returns violations.
func playStory(t *testing.T, planted bug, story func(f *fleet)) (broken string) {
	return playStoryOn(t, planted, func(t *testing.T) *fleet { return newFleet(t, "a", "b", "c") }, story)
}

// playStoryOn is playStory on the given fleet.
func playStoryOn(t *testing.T, planted bug, begin func(t *testing.T) *fleet, story func(f *fleet)) (broken string) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		f.mu.Lock()
		f.bug = planted
		f.mu.Unlock()
		f.failed = func(format string, args ...any) {
			f.violated(format, args...)
			runtime.Goexit()
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			story(f)
		}()
		<-done
		f.mu.Lock()
		defer f.mu.Unlock()
		broken = strings.Join(f.broken, "\n")
		f.broken = nil
	})
	return broken
}

// TestFleetsComeToRest: hosts die, are cut off, stop, come back, join, are drained and expelled, and the governor dies,
// at random. No change leaves a shard without a living majority, and all ends as it should.
func TestFleetsComeToRest(t *testing.T) {
	tally := map[string]int{}
	for seed := range *seeds {
		broken := playStory(t, 0, func(f *fleet) {
			s := &simulation{fleet: f, Rand: rand.New(rand.NewPCG(*from+seed, 3)), tally: tally}
			s.play(25)
		})
		if broken != "" {
			t.Fatalf("seed %d: %s", *from+seed, broken)
		}
	}
	t.Log(tally)
	for _, what := range []string{"killed", "cut off", "drained", "expelled", "governor killed", "stopped", "wish"} {
		if tally[what] == 0 && *seeds >= 12 {
			t.Errorf("nothing was ever %s: the seeds show too little", what)
		}
	}
}

// TestPlantedBugsAreNoticed: each bug prevents the success of a story that succeeds without it.
func TestPlantedBugsAreNoticed(t *testing.T) {
	failed := func(f *fleet) {
		f.named("b").kill()
		f.until(20*time.Second, "b has failed", func() bool {
			return f.records().Named("b").Target.Reason == hosts.ReasonSilent
		})
	}
	replaced := func(f *fleet) {
		d := f.join("d", "")
		f.until(time.Minute, "d has all shards", func() bool { return len(d.Held()) == len(f.shards) })
		f.must("drain", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Drain(at, "c") })
		f.until(time.Minute, "c has handed all over", func() bool { return f.voters() == "[[a b d]]" })
		f.until(time.Minute, "the removed replicas are not on record, and no step is open", func() bool {
			m := f.leader(hosts.Meta)
			return m != nil && len(m.State().Plan.Steps()) == 0 && len(f.records().Shard(1).Replicas) == 3
		})
	}
	for _, planted := range []struct {
		name  string
		bug   bug
		story func(f *fleet)
	}{
		{"every host is heard", bugDeaf, failed},
		{"memberships do not come on record", bugNeverKnown, replaced},
		{"deletions do not come on record", bugNeverCleared, replaced},
		{"steps do not end", bugNeverDone, replaced},
		{"replicas do not start", bugNeverStarted, replaced},
	} {
		t.Run(planted.name, func(t *testing.T) {
			for _, b := range []bug{0, planted.bug} {
				broken := playStory(t, b, planted.story)
				if (broken != "") != (b != 0) {
					t.Errorf("with bug %d: %q", b, broken)
				}
			}
		})
	}
}
