package governor

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

var largest = flag.Bool("governor.large", false, "let clusters of 256 shards come to rest too")

// large is a quiet world with many hosts and shards, whose governor works without faults between operators' requests.
type large struct {
	*simulation
	*testing.T
}

// newLarge has five hosts with so many data shards, and then so many hosts in all, in zones.
func newLarge(t *testing.T, count, shards, zones int) *large {
	var data []hosts.ShardID
	for i := range shards {
		data = append(data, hosts.ShardID(i+1))
	}
	l := &large{&simulation{world: emptyWorld(1, data...), planner: Planner(), part: true, calm: true}, t}
	l.bootstrap(5, false)
	from := l.records.Policy()
	to := from
	to.Copies, to.Replicas = 16, 3
	l.records.SetPolicy(l.at(), from, to)
	for i, m := range l.machines {
		m.domain = zone(i, zones)
		l.records.Alter(l.at(), m.name, m.domain)
	}
	for i := 5; i < count; i++ {
		l.another(zone(i, zones))
	}
	return l
}

func zone(i, zones int) hosts.Domain {
	return hosts.Domain{{Key: "dc", Value: fmt.Sprint(i % zones)}}
}

func (l *large) another(d hosts.Domain) *machine {
	l.enter(1)
	m := l.machines[len(l.machines)-1]
	m.domain = d
	return m
}

// round makes the executor report memberships, act on all open steps, and begin new steps as long as there are any. It
// reports whether there was anything to do, now or later.
func (l *large) round() (busy bool) {
	l.pass(500)
	x := l.leader()
	if x == nil {
		return true
	}
	l.see(x)
	for _, step := range slices.Clone(l.plan.Steps()) {
		l.work(x, &step)
		l.flush()
	}
	for _, id := range l.shards() {
		if e := l.engines[id]; e.change != l.records.Shard(id).Change && e.leader != 0 {
			l.commit(command{do: doKnown, term: x.term, a: Action{Shard: id}, change: e.change, members: e.list()})
		}
	}
	l.see(x)
	for {
		d := l.planner.Next(*x.view)
		if d.Step == nil {
			return len(l.plan.Steps()) > 0 || d.Wake != 0
		}
		busy = true
		l.wise(x.view, d.Step)
		l.commit(command{do: doBegin, term: x.term, revision: d.Revision,
			proposal: Config().AppendProposal(nil, d.Step)})
		x.view.State, x.view.Plan = l.records.Clone(), l.plan.Clone()
		l.alone(x.view)
	}
}

// alone checks that no host fills two learners, and no shard has two changes.
func (l *large) alone(v *View) {
	subjects := map[plan.Subject]bool{}
	for _, s := range v.Plan.Steps() {
		for _, of := range append([]plan.Subject{s.Subject}, s.With...) {
			l.must(!subjects[of], "two steps about %s", of)
			subjects[of] = true
		}
	}
}

// places are the hosts of all data shard replicas.
func (l *large) places() map[string]bool {
	list := map[string]bool{}
	for _, id := range l.shards()[1:] {
		for _, m := range l.engines[id].members {
			list[fmt.Sprint(id, "/", m.host)] = true
		}
	}
	return list
}

// rests runs the governor until it has nothing to do, and checks the result. least bounds the number of moved replicas
// and added learners.
func (l *large) rests(what string, least int) {
	l.Helper()
	defer func() {
		if v, ok := recover().(violation); ok {
			l.Fatal(what, ": ", string(v[:min(len(v), 2000)]))
		}
	}()
	before, added, begun, began := l.places(), l.added(), l.begun, l.now
	rounds := 0
	for still := 0; still < 12; rounds++ {
		if still++; l.round() {
			still = 0
		}
		l.must(rounds < 20_000, "it does not come to rest")
	}
	moved := 0
	for at := range l.places() {
		if !before[at] {
			moved++
		}
	}
	l.inOrder()
	load, fewest, most := map[shard.HostID]int{}, 1<<20, 0
	for _, e := range l.engines {
		for _, m := range e.members {
			load[m.host]++
		}
	}
	for id := range load {
		if h := l.records.Host(id); h.Online() {
			fewest, most = min(fewest, load[id]-1), max(most, load[id]-1)
		}
	}
	added = l.added() - added
	l.Logf("%s: %d rounds (%d s), %d steps, %d replicas moved, %d added, %d at least; %d to %d a host", what, rounds,
		(l.now-began)/1000, l.begun-begun, moved, added, least, fewest, most)
	if most := least + least/5; least > 0 && (moved > most || added > most) {
		l.Errorf("%s: %d replicas moved and %d added; at most %d", what, moved, added, most)
	}
}

// added is the total number of data shard replicas added so far.
func (l *large) added() (n int) {
	for id, e := range l.engines {
		if id != hosts.Meta {
			n += e.added
		}
	}
	return n
}

func (l *large) done(what string, a hosts.Answer) {
	l.Helper()
	if a.Status != 0 {
		l.Fatalf("%s: %v %s", what, a.Status, a.Text)
	}
}

// story is operators' and machines' actions on a large cluster, with the necessary number of replica moves for each.
func (l *large) story(shards int) {
	l.rests("born", 0)
	l.another(l.machines[0].domain)
	l.rests("a further host", shards*3/len(l.machines))
	load := l.replicasOf(7)
	l.done("drain", l.records.Drain(l.at(), l.machines[6].name))
	l.rests("a drain", load)
	l.done("undrain", l.records.Undrain(l.at(), l.machines[6].name))
	l.rests("the drain is taken back", shards*3/len(l.machines))
	load = l.replicasOf(9)
	l.machines[8].up = false
	l.rests("a host dies", load)
	l.done("expel", l.records.Expel(l.at(), l.machines[8].name, false, 1000))
	l.rests("it is expelled", 0)
	for _, to := range []struct{ replicas, least int }{{5, 2 * shards}, {1, 0}, {3, 2 * shards}} {
		l.ask(to.replicas)
		l.rests(fmt.Sprint(to.replicas, " replicas"), to.least)
	}
}

func (l *large) replicasOf(id shard.HostID) (n int) {
	for _, s := range l.shards()[1:] {
		if l.engines[s].on(id) {
			n++
		}
	}
	return n
}

func TestALargeClusterComesToRest(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of one goroutine")
	}
	for _, size := range []struct{ hosts, shards, zones int }{{30, 64, 3}, {30, 256, 1}, {99, 256, 3}} {
		t.Run(fmt.Sprintf("%d hosts, %d shards, %d zones", size.hosts, size.shards, size.zones), func(t *testing.T) {
			if size.shards > 64 && !*largest {
				t.Skip("it takes minutes: -governor.large")
			}
			newLarge(t, size.hosts, size.shards, size.zones).story(size.shards)
		})
	}
}
