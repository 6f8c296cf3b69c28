package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
)

// Tests of the rules that depend on sessions, links and objects. The remaining rules are tested in cases_test.go.

// TestALocationWithoutLeadersIsBlocked: the only leader of man is killed. When its session expires man is
// blocked, and its versions flow on to vla.
func TestALocationWithoutLeadersIsBlocked(t *testing.T) {
	b := rolloutBed(t, 3)
	spec := twoLocations()
	spec.Locations = append(spec.Locations, rolloutkind.Location{Name: "vla", Delay: 5 * time.Second})
	b.put("dns", rolloutkind.Put{Mode: field.PutAlter, Spec: spec})
	for i, location := range []string{"sas", "man", "vla"} {
		b.joinRollout(i, "a."+location, location)
		b.lead(i)
	}
	b.publish(rolloutkind.Publication{})
	b.report(0, Report{Current: 1, Generation: 1})
	b.PassTo(5001)
	b.report(1, Report{Current: 1, Generation: 2})
	b.publish(rolloutkind.Publication{})
	b.report(0, Report{Current: 2, Generation: b.target(t, "sas").Generation})
	b.PassTo(6000)
	b.Expire(b.IDs[1])
	b.PassTo(11_100)
	if man, vla := b.target(t, "man").Seq, b.target(t, "vla").Seq; man != 1 || vla != 1 {
		t.Errorf("man is at %d, vla at %d", man, vla)
	}
	d := b.describeRollout(t, shard.PartOptions{Why: true})
	if d.Phase != rolloutkind.Blocked || !slices.ContainsFunc(d.Reasons, func(re Reason) bool {
		return re.Code == rolloutkind.ReasonNoLeaders && re.Location == "man"
	}) {
		t.Errorf("%v: %v", d.Phase, d.Reasons)
	}
}

func TestALocationIsReachedWithoutTheInstanceThatIsOver(t *testing.T) {
	b := rolloutBed(t, 2)
	for i, name := range []string{"a", "b"} {
		b.joinRollout(i, name, "sas")
		b.lead(i)
	}
	b.publish(rolloutkind.Publication{})
	b.report(0, Report{Current: 1, Generation: 1})
	if _, waits := b.M.NextAlarm(); waits {
		t.Fatal("sas has reached its target with one leader behind")
	}
	b.PassTo(100)
	b.Expire(b.IDs[1])
	if at, waits := b.M.NextAlarm(); waits {
		t.Fatalf("man has no instance, and waits until %d", at)
	}
	var history rolloutkind.Row
	if err := protocol.ReadRecord(b.describeRollout(t, shard.PartOptions{Part: "history/sas"}).Rows[0].Body,
		&history, 0); err != nil || history.Reached.Time != 101*time.Millisecond {
		t.Errorf("%+v %v", history, err)
	}
}

// TestTwoThatAskAtOnceGetTheSame: there is one new target when the last leader has reported, shown to both.
func TestTwoThatAskAtOnceGetTheSame(t *testing.T) {
	b := rolloutBed(t, 2)
	for i, name := range []string{"a", "b"} {
		b.joinRollout(i, name, "sas")
		b.lead(i)
	}
	for range 2 {
		b.publish(rolloutkind.Publication{})
	}
	b.report(0, Report{Current: 1, Generation: 1})
	first := b.ask(t, 1, Report{Current: 1, Generation: 1})
	second := b.ask(t, 0, Report{Current: 1, Generation: 1})
	if first.Generation != 2 || first.Seq != 2 || second.Generation != first.Generation || second.Seq != 2 {
		t.Errorf("%+v and %+v", first, second)
	}
}

func TestANameIsOfOneInstance(t *testing.T) {
	b := rolloutBed(t, 2)
	b.joinRollout(0, "a", "sas")
	e := b.joinRollout(1, "a", "man")
	if e.Status != protocol.StatusAlreadyExists || !strings.Contains(e.Body, fmt.Sprintf("session %d ", b.IDs[0])) {
		t.Errorf("%v %q", e.Status, e.Body)
	}
	if h, _ := b.M.ListHoldings(b.IDs[1], 0, 0, nil); len(h) != 0 {
		t.Errorf("the second has %+v", h)
	}
	b.Expire(b.IDs[0])
	if e := b.joinRollout(1, "a", "man"); e.Status != protocol.StatusSuccess {
		t.Errorf("after the end of the first: %v %q", e.Status, e.Body)
	}
	h, _ := b.M.ListHoldings(b.IDs[1], 0, 0, nil)
	if len(h) != 1 || h[0].Kind != shard.KindRollout || h[0].Role != "follower" {
		t.Errorf("%+v", h)
	}
}

func TestARolloutWithInstancesIsDeletedByForce(t *testing.T) {
	b := rolloutBed(t, 2)
	b.joinRollout(0, "a", "sas")
	b.part(1, shard.CmdRolloutSource, Append(nil, &rolloutkind.SourceRole{Name: "s"}))
	remove := shard.Command{Kind: shard.CmdRolloutDelete, Node: 1, Name: []byte("dns")}
	b.Do(remove)
	if e := b.Result(); e.Status != protocol.StatusPreconditionFailed || e.Body == "" {
		t.Fatalf("%v %q", e.Status, e.Body)
	}
	remove.Flags = shard.FlagForce
	b.Do(remove)
	var lost []shard.SessionID
	for _, e := range b.Out.List {
		if e.Kind == shard.EffectLost && e.Object == shard.KindRollout && e.Name == "dns" {
			lost = append(lost, e.Session)
		}
	}
	if b.Result().Status != protocol.StatusSuccess || !slices.Equal(lost, b.IDs) {
		t.Errorf("%v, and %v are told", b.Result().Status, lost)
	}
	var delta shard.Delta
	if kind := b.M.Changes(rolloutRef("location/sas"), 1, &delta); kind != shard.DeltaAbsent {
		t.Errorf("who watches sas is reported %d", kind)
	}
	if e := b.report(0, Report{}); e.Status != protocol.StatusNotFound {
		t.Errorf("a report after it: %v", e.Status)
	}
}
