package governor

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// capacity is what operators do to shards in a simulation, and what that costs at least.
type capacity struct {
	targets map[hosts.ShardID]int // the targets at the last account
	// least is how many moves the changes of the targets have needed, changes how often the targets have changed.
	least, changes int
}

// newResized is newMoving or newPart with data shards that operators add, remove and weigh. The added shards have low
// weights, so that few slots move.
func newResized(seed uint64) *simulation {
	s := newSimulation(seed)
	if seed%2 == 1 {
		s = newPart(seed)
	}
	s.moves, s.capacity = newMoves(s.records), &capacity{targets: s.records.Targets()}
	for id, n := range s.records.Counts() {
		s.capacity.least += max(0, n-s.capacity.targets[id])
	}
	return s
}

// bootstrapped reports whether a shard exists since the bootstrap.
func (s *simulation) bootstrapped(id hosts.ShardID) bool {
	return s.moves.first.Of(shard.Slots-1).Shard >= uint64(id)
}

// resize is an operator's action about shards.
func (s *simulation) resize() {
	list := s.records.Shards()[1:]
	on := list[s.IntN(len(list))]
	at := s.at()
	switch x := s.leader(); s.IntN(6) {
	case 0, 1:
		if x == nil || x.view == nil || len(list) > 8 || s.records.LastShard() > 14 {
			return
		}
		if where, _ := Choose(*x.view, 1+s.IntN(2)); where != nil {
			last := s.records.LastShard()
			if a := s.records.AddShards(at, where); a.Status == 0 {
				for range where {
					last++
					s.records.WeighShard(at, last, 1+s.Uint64N(3))
				}
				s.tally["added"] += len(where)
			}
		}
	case 2:
		if !s.bootstrapped(on.ID) && (on.Phase == hosts.ShardServing || s.IntN(4) == 0) {
			s.remove(on.ID)
		}
	case 3, 4:
		weight := 1 + s.Uint64N(3)
		if s.bootstrapped(on.ID) {
			weight = 99 + s.Uint64N(3)
		}
		s.records.WeighShard(at, on.ID, weight)
	default:
		s.records.SetRebalance(at, protocol.RebalanceAction(1+s.IntN(4)))
	}
	s.follow()
	s.account()
}

// removeSome removes about half of the added shards.
func (s *simulation) removeSome() {
	for _, on := range slices.Clone(s.records.Shards()[1:]) {
		if !s.bootstrapped(on.ID) && s.IntN(2) == 0 {
			s.remove(on.ID)
		}
	}
	s.follow()
	s.account()
}

func (s *simulation) remove(id hosts.ShardID) {
	if s.records.RemoveShards(s.at(), []hosts.ShardID{id}).Status == 0 {
		s.tally["removed"]++
	}
}

// account notes how many moves a change of the targets needs.
func (s *simulation) account() {
	if s.capacity == nil {
		return
	}
	next, sum := s.records.Targets(), 0
	for id := range mergedKeys(next, s.capacity.targets) {
		sum += max(0, next[id]-s.capacity.targets[id])
	}
	if sum > 0 {
		s.capacity.least += sum
		s.capacity.changes++
	}
	s.capacity.targets = next
}

func mergedKeys[M ~map[K]V, K comparable, V any](a, b M) map[K]bool {
	keys := map[K]bool{}
	for _, m := range []M{a, b} {
		for k := range m {
			keys[k] = true
		}
	}
	return keys
}

// tooLarge reports whether the slot moves only as a large one: some slots have grown in the added shards.
func (s *simulation) tooLarge(a *Action) bool {
	return s.capacity != nil && a.Slot%7 == 0 && !s.bootstrapped(a.Shard) && !a.Large
}

// oneLarge checks that one large slot moves at a time.
func (s *simulation) oneLarge() {
	n := 0
	for _, step := range s.plan.Steps() {
		if step.Payload.Large {
			n++
		}
	}
	s.must(n <= 1, "%d large slots move at once", n)
}

// seeIdle adds to a view which shards have nothing to keep. A shard keeps sessions for some time.
func (s *simulation) seeIdle(v *View) {
	for i := range v.Seen.Shards {
		seen := &v.Seen.Shards[i]
		if s.capacity != nil && seen.Leader != 0 {
			seen.Idle = !s.keeps(seen.Shard) && (s.calm || s.IntN(3) > 0)
		}
	}
}

// offers lets shards offer sealed slots from time to time, and reports whether there are any.
func (s *simulation) offers() (any bool) {
	if s.capacity == nil {
		return false
	}
	if s.IntN(4) == 0 {
		s.offer()
	}
	for _, log := range s.moves.logs {
		for _, h := range log {
			any = any || h.sealed
		}
	}
	return any
}

// keeps reports whether a shard has content.
func (s *simulation) keeps(id hosts.ShardID) bool {
	for _, h := range s.moves.logs[id] {
		if h.owned || h.sealed {
			return true
		}
	}
	return s.bootstrapped(id)
}

// resized carries out a step about a shard.
func (s *simulation) resized(x *executor, step *plan.Step[Action]) {
	a := step.Payload
	do := map[plan.Kind]int{KindServe: doServe, KindRetire: doRetire, KindRestart: doRestart}[step.Kind]
	if step.Kind == KindServe {
		voters := x.voters[a.Shard]
		s.must(len(voters) >= x.view.State.Wanted(a.Shard), "shard %d is to serve with %d voters", a.Shard, len(voters))
		for h := range voters {
			s.must(x.alive[h], "shard %d is to serve without host %d", a.Shard, h)
		}
	}
	s.send(command{do: do, term: x.term, a: a})
}

// retired is called when a shard has been retired.
func (s *simulation) retired(id hosts.ShardID) {
	s.must(!s.keeps(id), "shard %d is deleted with content", id)
	s.tally["retired"]++
	s.follow()
}

// shardsInOrder checks that shards serve or are gone, that each has its target, and that no slot moved without need.
func (s *simulation) shardsInOrder() {
	whole := s.whole()
	for _, on := range s.records.Shards()[1:] {
		e := s.engines[on.ID]
		switch on.Phase {
		case hosts.ShardAdded:
			begun := e != nil && e.group == on.Group && e.leader != 0
			s.must(begun || len(takers(*s.leader().view)) == 0, "shard %d does not begin", on.ID)
			s.must(!whole || e == nil || len(e.voters()) < s.records.Wanted(on.ID), "shard %d does not serve", on.ID)
		case hosts.ShardLeaving:
			s.must(!whole, "shard %d is not removed", on.ID)
		}
	}
	counts := s.records.Counts()
	maps.DeleteFunc(s.capacity.targets, func(_ hosts.ShardID, n int) bool { return n == 0 })
	s.must(!whole || !s.records.Rebalance().Due && maps.Equal(counts, s.capacity.targets),
		"the shards have %v slots of %v", counts, s.capacity.targets)
	most := s.capacity.least + 2*maxMoves*s.capacity.changes // a move may have begun for the targets before
	s.must(s.tally["opened"] <= most, "%d slots have moved, and %d had to", s.tally["opened"], s.capacity.least)
	s.tally["least"] += s.capacity.least
	s.tally["targets reached"] += rank(whole)
}

// TestShardsComeToRest is TestPlansEndAndKeepTheQuorum with data shards that operators add, remove and weigh. No shard
// has a slot before it serves or after it is gone, and at the end each shard has its target.
func TestShardsComeToRest(t *testing.T) {
	tally := map[string]int{}
	count := *seeds / 5
	if testing.Short() {
		count = min(count, 8)
	}
	for seed := range count {
		if broken := run(*from+seed, newResized, nil, tally); broken != "" {
			t.Fatalf("seed %d: %s", *from+seed, broken)
		}
	}
	t.Log(tally)
	if moved, least := tally["opened"], tally["least"]; 10*moved > 12*least {
		t.Errorf("%d slots have moved, and %d had to", moved, least)
	}
	for _, what := range []string{"added", "removed", "retired", "opened", "kept", "began enable-shard",
		"targets reached"} {
		if tally[what] < int(count)/2 {
			t.Errorf("%q came about %d times in %d seeds: they show too little of it", what, tally[what], count)
		}
	}
	if tally["began restart-shard"] == 0 || tally["lost"] > int(count)/10 {
		t.Errorf("%d shards began anew, %d worlds have lost a majority", tally["began restart-shard"], tally["lost"])
	}
}

func TestPlantedBugsAboutShardsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of one goroutine")
	}
	for _, b := range []struct {
		name  string
		seed  uint64
		spoil func(*simulation)
		says  string
	}{
		{"no rule shards", 5, without("shards"), "does not"},
		{"no rule balance", 1, without("balance"), ""},
		{"shards serve at once", 0, func(s *simulation) {
			s.noJudge = true
			s.find("shards", func(v View) (f finding) {
				for _, on := range v.State.Shards() {
					if on.Phase == hosts.ShardAdded {
						f.Steps = append(f.Steps, proposal(KindServe, Action{Shard: on.ID}))
					}
				}
				return f
			})
		}, "is to serve"},
		{"shards never begin anew", 3, func(s *simulation) {
			s.find("shards", func(v View) (f finding) {
				f = ruleShards(v)
				kept := f.Steps[:0]
				for _, pr := range f.Steps {
					if pr.Kind != KindRestart {
						kept = append(kept, pr)
					}
				}
				f.Steps = kept
				return f
			})
		}, ""},
		{"shards are deleted with slot snapshots", 0, seeing(func(_ *simulation, v *View) {
			for i := range v.Seen.Shards {
				v.Seen.Shards[i].Idle = true
			}
		}), "is deleted with content"},
		{"large slots stay", 0, func(s *simulation) {
			s.find("balance", func(v View) (f finding) {
				f = ruleBalance(v)
				for i := range f.Steps {
					f.Steps[i].Payload.Large = false
				}
				return f
			})
		}, ""},
	} {
		t.Run(b.name, func(t *testing.T) {
			broken := run(b.seed, newResized, b.spoil, map[string]int{})
			if broken == "" || !strings.Contains(broken, b.says) {
				t.Errorf("seed %d does not notice it%s", b.seed, search(newResized, b.spoil, b.says))
			}
			t.Log(broken[:min(len(broken), 160)])
		})
	}
}
