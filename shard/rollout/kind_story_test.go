package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// bed is a rollout machine with sessions.
type bed struct {
	machinetest.Bed[*machine.Machine]
}

// empty returns a machine with rollouts and semaphores; rollout lists do not show semaphores.
func empty() *machine.Machine {
	return machine.New(machine.NewKinds(Kind(), semaphore.Kind()), machine.Options{})
}

// core is the content of a machine without concurrent users.
func core(m *machine.Machine) *machine.Core {
	defer m.RUnlock()
	return m.RLock()
}

// newBed returns a bed with a leader.
func newBed(sessions int) *bed {
	b := &bed{machinetest.NewAt(empty(), level.Newest, sessions)}
	b.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	return b
}

// rolloutBed is a bed for a shard with the rollout "dns": sas, and man 5 s behind it.
func rolloutBed(t testing.TB, sessions int) *bed {
	t.Helper()
	b := newBed(sessions)
	b.put("dns", rolloutkind.Put{Spec: twoLocations()})
	return b
}

func twoLocations() rolloutkind.Spec {
	locations := []rolloutkind.Location{{Name: "sas"}, {Name: "man", Delay: 5 * time.Second}}
	return rolloutkind.Spec{Locations: locations}.WithDefaults()
}

// The following commands are by session i; commands without a session parameter need none.

func (b *bed) put(name string, p rolloutkind.Put) *shard.Effect {
	b.Do(shard.Command{Kind: shard.CmdRolloutPut, Node: 1, Name: []byte(name), Body: Append(nil, &p)})
	return b.Result()
}

func (b *bed) publish(p rolloutkind.Publication) *shard.Effect {
	b.Do(shard.Command{
		Kind: shard.CmdRolloutPublish, Node: 1, Name: []byte("dns"), Body: Append(nil, &p), Data: p.Payload,
	})
	return b.Result()
}

func (b *bed) part(i int, k shard.CommandKind, body []byte) *shard.Effect {
	b.As(i, shard.Command{Kind: k, Name: []byte("dns"), Body: body})
	return b.Result()
}

func (b *bed) joinRollout(i int, instance, location string) *shard.Effect {
	j := rolloutkind.Instance{Name: instance, Location: location}
	return b.part(i, shard.CmdRolloutJoin, Append(nil, &j))
}

func (b *bed) lead(i int) *shard.Effect {
	b.As(i, shard.Command{Kind: shard.CmdRolloutRole, Name: []byte("dns"), Count: 1})
	return b.Result()
}

func (b *bed) report(i int, r Report) *shard.Effect {
	return b.part(i, shard.CmdRolloutReport, AppendReport(nil, r))
}

func (b *bed) ask(t testing.TB, i int, r Report) Target {
	t.Helper()
	e := b.part(i, shard.CmdRolloutAsk, AppendReport(nil, r))
	if e.Status != protocol.StatusSuccess {
		t.Fatalf("asking is refused: %v %s", e.Status, e.Body)
	}
	target, err := ParseTarget([]byte(e.Body))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func rolloutRef(view string) shard.Ref {
	return shard.Ref{Kind: shard.KindRollout, Node: 1, Name: "dns", View: view}
}

// target reads the target shown to a location's instances.
func (b *bed) target(t testing.TB, location string) (r protocol.RolloutTarget) {
	t.Helper()
	var d shard.Description
	if !b.M.Describe(rolloutRef("location/"+location), shard.DescribeOptions{}, &d) {
		t.Fatalf("there is no location %s", location)
	}
	if err := protocol.ReadRecord([]byte(d.Data), &r, 0); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAVersionReachesLocationsInOrder is the documented example: sas at once, man 5 s later, even with a restored
// replica meanwhile.
func TestAVersionReachesLocationsInOrder(t *testing.T) {
	b := rolloutBed(t, 2)
	for i, location := range []string{"sas", "man"} {
		if e := b.joinRollout(i, "a."+location, location); e.Status != protocol.StatusSuccess || e.Order == 0 {
			t.Fatalf("%+v", e)
		}
		b.lead(i)
	}
	if e := b.publish(rolloutkind.Publication{Payload: []byte("zone")}); e.Order != 1 {
		t.Fatalf("%+v", e)
	}
	if at := b.target(t, "sas"); at.Seq != 1 || string(at.Payload) != "zone" {
		t.Fatalf("%+v", at)
	}
	b.One.Stamp.Elapsed = 1000
	b.report(0, Report{Current: 1, Generation: 1})
	b.M = machinetest.Copy(t, b.M, empty())
	if at, waits := b.M.NextAlarm(); !waits || at != 6001 {
		t.Fatalf("it waits until %d %v", at, waits)
	}
	b.PassTo(6000)
	if at := b.target(t, "man"); at.Seq != 0 {
		t.Fatalf("man has %+v before its delay is over", at)
	}
	b.PassTo(6001)
	changed := slices.ContainsFunc(b.Out.List, func(e shard.Effect) bool { return e.Kind == shard.EffectChanged })
	if at := b.target(t, "man"); at.Seq != 1 || at.Generation != 2 || !changed {
		t.Fatalf("man has %+v, reported: %v", at, changed)
	}
	if at := b.ask(t, 1, Report{}); at.Seq != 1 || at.Generation != 2 {
		t.Fatalf("man is answered %+v", at)
	}
}
