package bootstrap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard/hosts"
)

// newTestWorld is a world with three hosts in which nothing happens by itself.
func newTestWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(rand.New(rand.NewPCG(1, 1)), "a", "b", "c")
}

func (w *world) mustRest(t *testing.T) {
	t.Helper()
	if err := w.rest(); err != nil {
		t.Fatal(err)
	}
	if err := w.check(); err != nil {
		t.Fatal(err)
	}
}

// clusters are the clusters of the running hosts, "-" for none, and "out" for an excluded host.
func (w *world) clusters() string {
	var list []string
	names := make(map[string]string)
	for _, p := range w.all() {
		switch id := p.disk.id; {
		case p.left != nil:
			list = append(list, "out")
		case !id.Bootstrapped():
			list = append(list, "-")
		default:
			if names[id.Cluster] == "" {
				names[id.Cluster] = fmt.Sprint(1 + len(names))
			}
			list = append(list, names[id.Cluster])
		}
	}
	return strings.Join(list, " ")
}

func orders(names ...string) (all [][]string) {
	if len(names) == 0 {
		return [][]string{nil}
	}
	for i, name := range names {
		rest := append(append([]string{}, names[:i]...), names[i+1:]...)
		for _, more := range orders(rest...) {
			all = append(all, append([]string{name}, more...))
		}
	}
	return all
}

// TestHostsBootstrapInAnyStartOrder: no host bootstraps before the last one has started.
func TestHostsBootstrapInAnyStartOrder(t *testing.T) {
	for _, order := range orders("a", "b", "c") {
		w := newTestWorld(t)
		for i, name := range order {
			if len(w.bootstraps) > 0 {
				t.Fatalf("%v: after %d starts a host is bootstrapped", order, i)
			}
			w.start(name)
			w.mustRest(t)
		}
		if got := w.clusters(); got != "1 1 1" {
			t.Errorf("%v: they are in clusters %s", order, got)
		}
	}
}

// TestHostCrashBetweenAnyTwoBootstrapSteps: each host crashes before or after each of its writes, once or together with
// another host.
func TestHostCrashBetweenAnyTwoBootstrapSteps(t *testing.T) {
	died := 0
	for _, first := range []string{"a", "b", "c"} {
		for _, second := range []string{"a", "b", "c"} {
			for crash := range 4 * 4 {
				w := newTestWorld(t)
				for _, name := range []string{"c", "b", "a"} {
					p := w.start(name)
					if name == first {
						p.mayCrash, p.crash = true, 1+crash/4
					}
					if name == second {
						p.mayCrash, p.crash = true, 1+crash%4
					}
				}
				w.mustRest(t)
				for range 2 {
					for _, p := range w.all() {
						if p.dead {
							died++
							w.start(p.name)
						}
					}
					w.mustRest(t)
				}
				if got := w.clusters(); got != "1 1 1" {
					t.Fatalf("%s and %s died at %d: clusters %s", first, second, crash, got)
				}
			}
		}
	}
	if died < 50 {
		t.Errorf("only %d have died", died)
	}
}

func TestWhatWipedHostsFind(t *testing.T) {
	for name, c := range map[string]struct {
		before []string // run before the wipe
		wiped  []string
		after  []string // run after it
		want   string   // clusters of hosts running afterwards, in list order
	}{
		"one, before the bootstrap":         {[]string{"a", "b"}, []string{"b"}, []string{"a", "b", "c"}, "1 1 1"},
		"the decider, before the bootstrap": {[]string{"a", "b"}, []string{"a"}, []string{"a", "b", "c"}, "1 1 1"},
		"one, after " +
			"it": {[]string{"a", "b", "c"}, []string{"b"}, []string{"a", "b", "c"}, "1 out 1"},
		"the decider, after " +
			"it": {[]string{"a", "b", "c"}, []string{"a"}, []string{"a", "b", "c"}, "out 1 1"},
		"two of " +
			"three": {[]string{"a", "b", "c"}, []string{"a", "c"}, []string{"a", "b", "c"}, "out 1 out"},
		"two of three, the third is " +
			"away": {[]string{"a", "b", "c"}, []string{"a", "b"}, []string{"a", "b"}, "- -"},
		"one, the others are away": {[]string{"a", "b", "c"}, []string{"b"}, []string{"b"}, "-"},
		"one, only the last to bootstrap is there": {[]string{"a", "b", "c"}, []string{"b"}, []string{"b", "c"},
			"out 1"},
		"all": {[]string{"a", "b", "c"}, []string{"a", "b", "c"}, []string{"a",
			"b", "c"}, "1 1 1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorld(t)
			for _, host := range c.before {
				w.start(host)
			}
			w.mustRest(t)
			for _, p := range w.all() {
				p.dead = true
			}
			clear(w.running)
			w.flying = nil
			for _, host := range c.wiped {
				w.wipe(host)
			}
			for _, host := range c.after {
				w.start(host)
			}
			w.mustRest(t)
			if got := w.clusters(); got != c.want {
				t.Errorf("%v are in clusters %s, want %s", c.after, got, c.want)
			}
		})
	}
}

// TestDeciderCrashBeforeOthersLearnOfTheBootstrap: the decider's directory records the bootstrap; if it is wiped too,
// no host is bootstrapped, and all start over.
func TestDeciderCrashBeforeOthersLearnOfTheBootstrap(t *testing.T) {
	for _, wiped := range []bool{false, true} {
		w := newTestWorld(t)
		for _, name := range []string{"b", "c", "a"} {
			w.start(name)
		}
		a := w.running["a"]
		for !a.disk.id.Bootstrapped() {
			for len(w.flying) > 0 {
				w.deliver(0)
			}
			if err := w.conclude(a); err != nil {
				t.Fatal(err)
			}
		}
		a.dead = true
		if wiped {
			w.wipe("a")
		}
		w.start("a")
		w.mustRest(t)
		if got, distinct := w.clusters(), len(w.bootstraps)-2; got != "1 1 1" || wiped != (distinct == 2) {
			t.Errorf("wiped %t: clusters %s after %d bootstraps", wiped, got, len(w.bootstraps))
		}
	}
}

func TestWhoIsRefused(t *testing.T) {
	w := newTestWorld(t)
	b := w.start("b")
	for name, c := range map[string]struct {
		change func(*Ask)
		say    string
	}{
		"nothing wrong": {func(*Ask) {}, ""},
		"a stranger": {func(a *Ask) { a.Name = "mallory" }, "the host is not in the list of initial " +
			"hosts: mallory"},
		"its own name":       {func(a *Ask) { a.Name = "b" }, "the host has the same name as the asked host, b"},
		"no incarnation":     {func(a *Ask) { a.Incarnation = hosts.Incarnation{} }, "the host has no incarnation"},
		"other shards":       {func(a *Ask) { a.Plan.Shards = 4 }, `--shards is "1" here and "4" there`},
		"another name":       {func(a *Ask) { a.Plan.Cluster = "x" }, `--cluster-name is "" here and "x" there`},
		"other access rules": {func(a *Ask) { a.Plan.Access = "x" }, `access control is "open" here and "x" there`},
		"another list": {func(a *Ask) { a.Plan = planOf("a", "b") },
			`--initial-hosts is "a=a:7421,b=b:7421,c=c:7421" here`},
		"another order":     {func(a *Ask) { a.Plan = planOf("c", "b", "a") }, "--initial-hosts is"},
		"an empty list":     {func(a *Ask) { a.Plan = Plan{} }, "--initial-hosts is"},
		"another addresses": {func(a *Ask) { a.Plan = planOf("a", "b", "c"); a.Plan.Hosts[0].Raft = "x:1" }, "a=x:1"},
	} {
		ask := Ask{Name: "c", Incarnation: hosts.Incarnation{99}, Plan: planOf("a", "b", "c")}
		c.change(&ask)
		answer, _ := b.HandleAsk(ask)
		if (answer.Refusal == "") != (c.say == "") || !strings.Contains(answer.Refusal, c.say) ||
			answer.Promise != (hosts.Incarnation{}) {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}

// TestHostWithOtherSettingsBlocksTheBootstrap: no host bootstraps while one has different settings.
func TestHostWithOtherSettingsBlocksTheBootstrap(t *testing.T) {
	w := newTestWorld(t)
	w.start("a")
	w.start("b")
	w.plan.Shards = 4
	w.start("c")
	w.mustRest(t)
	if got := w.clusters(); got != "- - -" {
		t.Errorf("clusters %s", got)
	}
	for len(w.flying) > 0 {
		w.deliver(0)
	}
	if a := w.running["a"]; !strings.Contains(a.Awaited(a.answers, nil), `host c refuses this host: --initial-hosts, --cluster-name, --shards and --access-file must be equal on all hosts: --shards is "4" here and "1" there`) {
		t.Errorf("it says: %s", a.Awaited(a.answers, nil))
	}
}

// TestHostsWithAccessRulesBootstrapAClosedCluster: every initial member's directory records that the cluster is closed.
func TestHostsWithAccessRulesBootstrapAClosedCluster(t *testing.T) {
	for _, access := range []string{"", "rules"} {
		w := newTestWorld(t)
		w.plan.Access = access
		for _, name := range []string{"a", "b", "c"} {
			w.start(name)
		}
		w.mustRest(t)
		for _, p := range w.all() {
			if id := p.disk.id; !id.Bootstrapped() || id.Closed != (access != "") {
				t.Errorf("access %q: host %s has %+v", access, p.name, id.Bootstrap)
			}
		}
	}
}

// TestWhatIsSaidOfAClusterIsNotTakenForTrue: a host accepts being an initial member only if the initial members are
// plausible and the host has given its promise to the decider. Otherwise its directory is a copy from before the
// promise.
func TestWhatIsSaidOfAClusterIsNotTakenForTrue(t *testing.T) {
	w := newTestWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.start(name)
	}
	w.mustRest(t)
	good := w.running["b"].disk.id.Bootstrap
	bad := good
	bad.Shards++
	decider := good.InitialMembers[0].Incarnation
	for name, c := range map[string]struct {
		host         string
		promise      hosts.Incarnation
		bootstrap    identity.Bootstrap
		bootstrapped bool
		say          string
	}{
		"as it was":             {"b", decider, good, true, ""},
		"it cannot be":          {"b", decider, bad, false, "reports an invalid cluster"},
		"promised to another":   {"b", hosts.Incarnation{77}, good, false, "the data directory is an older copy"},
		"promised to nobody":    {"b", hosts.Incarnation{}, good, false, "the data directory is an older copy"},
		"the decider forgot it": {"a", hosts.Incarnation{}, good, false, "the data directory is an older copy"},
	} {
		m := &memory{identity.Identity{HostName: c.host, Incarnation: good.InitialMember(c.host).Incarnation,
			Promise: c.promise}}
		bootstrapped,
			err := NewInitializer(w.plan, c.host,
			m).Conclude(map[string]Answer{"c": {Name: "c", Bootstrap: &c.bootstrap}})
		if bootstrapped != c.bootstrapped || err == nil != c.bootstrapped || err != nil &&
			!strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: bootstrapped %t, %v", name, bootstrapped, err)
		}
	}
}

func TestALeftOutHostSaysWhatToType(t *testing.T) {
	for _, c := range []struct {
		without ExcludedError
		say     string
	}{
		{ExcludedError{"a", "a:7421", "prod-1", "b", excludedWiped},
			"host a is in cluster prod-1, which was bootstrapped with " +
				"another data " +
				"directory of host b"},
		{ExcludedError{"a", "a:7421", "prod-1", "b", excludedWiped},
			"signalbox serve --join a:7421 --name b --replace b, the " +
				"other"},
		{ExcludedError{"a", "a:7421", "prod-1", "x", excludedName},
			"signalbox serve --join a:7421 --name x, the other"},
	} {
		if got := c.without.Error(); !strings.Contains(got, c.say) {
			t.Errorf("%s\ndoes not say: %s", got, c.say)
		}
	}
}
