package rollout

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// readBed is a bed for a rollout whose sas has two leaders at version 1 (newest 2), and whose man waits.
func readBed(t *testing.T) *bed {
	t.Helper()
	b := rolloutBed(t, 3)
	for i, instance := range []string{"a.sas", "b.sas"} {
		b.joinRollout(i, instance, "sas")
		b.lead(i)
	}
	b.joinRollout(2, "a.man", "man")
	b.publish(rolloutkind.Publication{Payload: []byte("one"), Label: "first"})
	for i := range 2 {
		b.report(i, Report{Current: 1, Generation: 1})
	}
	b.publish(rolloutkind.Publication{Payload: []byte("two"), Label: "second",
		By: rolloutkind.ChangeInfo{Author: "op"}})
	b.report(0, Report{Generation: 2, Status: rolloutkind.Updating, Attempts: 1})
	return b
}

func (b *bed) describeRollout(t *testing.T, o shard.PartOptions) (d Description) {
	t.Helper()
	if Describe(b.M, 1, "dns", o, &d) != shard.FoundPart {
		t.Fatalf("there is no part %q", o.Part)
	}
	return d
}

func TestEachPartOfARolloutIsDescribed(t *testing.T) {
	b := readBed(t)
	first := uint64(machinetest.NextOrder(0))
	second := uint64(machinetest.NextOrder(shard.OrderID(first)))
	for part, want := range map[string]struct {
		head field.Value
		rows []uint64
		says string // somewhere in head or rows
	}{
		"":              {&rolloutkind.State{}, []uint64{4, 5, 8, 9}, "second"},
		"location/sas":  {&protocol.RolloutTarget{}, nil, "two"},
		"instances/sas": {&rolloutkind.Counts{}, []uint64{first<<2 + 2, second<<2 + 2}, "b.sas"},
		"source":        {&rolloutkind.Ticket{}, nil, ""},
		"history/sas":   {nil, []uint64{1, 2}, ""},
		"actions":       {nil, []uint64{1}, ""},
		"version/2":     {&rolloutkind.Version{}, nil, "two"},
	} {
		d := b.describeRollout(t, shard.PartOptions{Part: part})
		var rows []uint64
		all := string(d.Head)
		for _, row := range d.Rows {
			rows = append(rows, row.ID)
			all += string(row.Body)
		}
		if fmt.Sprint(rows) != fmt.Sprint(want.rows) || !strings.Contains(all, want.says) || d.More {
			t.Errorf("%q has the rows %v, and says %q", part, rows, all)
		}
		switch {
		case want.head == nil && len(d.Head) > 0:
			t.Errorf("%q has the head %q", part, d.Head)
		case want.head != nil:
			if err := protocol.ReadRecord(d.Head, want.head, 0); err != nil {
				t.Errorf("%q: %v", part, err)
			}
		}
		if d.Phase != rolloutkind.Rolling || d.Now != b.M.Time() || d.Revision == 0 || d.Reasons != nil {
			t.Errorf("%q: %v at %d, revision %d", part, d.Phase, d.Now, d.Revision)
		}
	}
	var d Description
	for _, part := range []string{"location/vla", "history/vla", "version/3", "version/x", "version", "sas"} {
		if found := Describe(b.M, 1, "dns", shard.PartOptions{Part: part}, &d); found != shard.FoundObject {
			t.Errorf("part %q: %d", part, found)
		}
	}
	if found := Describe(b.M, 1, "other", shard.PartOptions{}, &d); found != shard.FoundNothing {
		t.Errorf("a rollout that is not there: %d", found)
	}
}

// TestPartsOfARolloutComeInPages: one-row pages have the same rows, in order, as one page.
func TestPartsOfARolloutComeInPages(t *testing.T) {
	b := readBed(t)
	for _, part := range []string{"", "instances/sas", "history/sas", "actions", "source"} {
		whole := b.describeRollout(t, shard.PartOptions{Part: part}).Rows
		var rows []shard.Row
		after := uint64(0)
		for more := len(whole) > 0; more; {
			d := b.describeRollout(t, shard.PartOptions{Part: part, After: after, Limit: 1})
			rows, more = append(rows, d.Rows...), d.More
			after = rows[len(rows)-1].ID
			if len(d.Rows) != 1 || len(rows) > len(whole) {
				t.Fatalf("%q: a page of %d rows", part, len(d.Rows))
			}
		}
		for k := range rows {
			if rows[k].ID != whole[k].ID || !bytes.Equal(rows[k].Body, whole[k].Body) || len(rows) != len(whole) {
				t.Errorf("%q: row %d of %d is another", part, k, len(rows))
			}
		}
	}
}

func TestWhyNamesTheInstancesOfItsLocation(t *testing.T) {
	b := readBed(t)
	reasons := b.describeRollout(t, shard.PartOptions{Why: true}).Reasons
	want := "sas waits for 2 of 2 leaders: a.sas (updating 0 s, attempt 1), b.sas (has not heard of generation 2)"
	if len(reasons) == 0 || reasons[0].String() != want {
		t.Errorf("%v", reasons)
	}
	if r := reasons[0].View(); r.Text != want || r.Waiting != 2 || len(r.Named) != 2 {
		t.Errorf("%+v", r)
	}
	later := b.describeRollout(t, shard.PartOptions{Why: true, Now: b.M.Time() + 41_001}).Reasons
	if text := later[0].String(); !strings.Contains(text, "a.sas (updating 41 s, attempt 1)") {
		t.Errorf("by the estimate of the leader: %s", text)
	}
}

func TestRolloutsAreListedByName(t *testing.T) {
	b := readBed(t)
	for _, name := range []string{"dns/b", "dns/a", "web"} {
		b.put(name, rolloutkind.Put{Spec: twoLocations()})
	}
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("dns/c"), Count: 1})
	var names []string
	last, more := "", true
	for more {
		var page []rolloutkind.Summary
		page, last, more = List(b.M, 1, "dns", last, 1, nil)
		for _, s := range page {
			names = append(names, s.Name)
		}
	}
	if got := strings.Join(names, " "); got != "dns dns/a dns/b" {
		t.Errorf("%s", got)
	}
	page, _, _ := List(b.M, 1, "dns", "", 1, nil)
	if s := page[0]; s.Phase != rolloutkind.Rolling || s.Locations != 2 || s.Instances != 3 || s.LastSeq != 2 ||
		s.Label != "second" || s.Revision == 0 {
		t.Errorf("%+v", s)
	}
}

// TestWhatIsDueByTheEstimateIsWaitedFor: descriptions use the leader's time estimate, and execute nothing.
func TestWhatIsDueByTheEstimateIsWaitedFor(t *testing.T) {
	b := readBed(t)
	for _, now := range []uint64{0, 4000, 60_000} {
		d := b.describeRollout(t, shard.PartOptions{Why: true, Now: now})
		if d.Now != now || d.Phase != rolloutkind.Rolling || !strings.Contains(fmt.Sprint(d.Reasons), "delay") {
			t.Errorf("at %d: %d %v %v", now, d.Now, d.Phase, d.Reasons)
		}
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	b := readBed(t)
	before := b.M.Digest()
	r, now := Rehearse(b.M, 1, "dns", 0)
	if got := fmt.Sprint(now, r.Run(1000)); got != "0 [{5.001s man 1 initial}]" {
		t.Errorf("%s", got)
	}
	if _, now := Rehearse(b.M, 1, "dns", 7); now != 7 {
		t.Errorf("it begins at %d, not at the leader's estimate", now)
	}
	r, _ = Rehearse(b.M, 1, "dns", 0)
	r.Act(rolloutkind.Action{Kind: rolloutkind.Promote, Locations: []string{"man"}})
	r.Publish()
	if got := fmt.Sprint(r.Run(1000)); got != "[{0s man 1 promote} {1s sas 3 next}]" {
		t.Errorf("%s", got)
	}
	if b.M.Digest() != before {
		t.Error("it changed the rollout")
	}
	if r, _ := Rehearse(b.M, 1, "other", 0); r != nil {
		t.Error("a rollout that is not there is rehearsed")
	}
}

func TestTheVersionOfAnAnswerIsReadWhereItIsKept(t *testing.T) {
	b := readBed(t)
	if label, payload, ok := PayloadOf(b.M, 1, []byte("dns"), 2); !ok || label != "second" ||
		string(payload) != "two" {
		t.Errorf("%q %q %v", label, payload, ok)
	}
	for name, seq := range map[string]uint64{"dns": 3, "other": 1} {
		if _, _, ok := PayloadOf(b.M, 1, []byte(name), seq); ok {
			t.Errorf("%s has a version %d", name, seq)
		}
	}
}

// TestWhatChangesNothingIsAnsweredWithoutTheLog: including later requests, until something may have changed.
func TestWhatChangesNothingIsAnsweredWithoutTheLog(t *testing.T) {
	same := Report{Generation: 2, Status: rolloutkind.Updating, Attempts: 1}
	command := func(b *bed, k shard.CommandKind, r Report) *shard.Command {
		return &shard.Command{
			Kind: k, Node: 1, Name: []byte("dns"), Session: b.IDs[0], Number: b.Numbers[0] + 1, Acked: b.Numbers[0],
			Body: AppendReport(nil, r),
		}
	}
	for name, c := range map[string]struct {
		change func(b *bed, c *shard.Command)
		is     bool
	}{
		"the same again": {func(*bed, *shard.Command) {}, true},
		"another report": {
			func(_ *bed, c *shard.Command) { c.Body = AppendReport(nil, Report{}) }, false,
		},
		"no report": {func(_ *bed, c *shard.Command) { c.Body = nil }, false},
		"one that has been Success": {
			func(b *bed, c *shard.Command) { c.Number, c.Acked = b.Numbers[0], b.Numbers[0]-1 }, false,
		},
		"others are under way": {func(_ *bed, c *shard.Command) { c.Number++ }, false},
		"others were answered elsewhere": {
			func(_ *bed, c *shard.Command) { c.Number, c.Acked = c.Number+1, c.Acked+1 }, false,
		},
		"another session": {func(b *bed, c *shard.Command) { c.Session = b.IDs[1] }, false},
		"a session that is over": {
			func(b *bed, _ *shard.Command) { b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: b.IDs[0]}) }, false,
		},
		"another node":    {func(_ *bed, c *shard.Command) { c.Node = 2 }, false},
		"another rollout": {func(_ *bed, c *shard.Command) { c.Name = []byte("web") }, false},
		"an instance that has left": {
			func(b *bed, c *shard.Command) {
				b.part(0, shard.CmdRolloutLeave, nil)
				c.Number, c.Acked = c.Number+1, c.Acked+1
			}, false,
		},
		"a location that is gone": {
			func(b *bed, _ *shard.Command) {
				spec := twoLocations()
				spec.Locations[0].Name = "vla"
				b.put("dns", rolloutkind.Put{Mode: field.PutAlter, Spec: spec})
			}, false,
		},
		"a rollout that is gone": {
			func(b *bed, _ *shard.Command) {
				b.Do(shard.Command{Kind: shard.CmdRolloutDelete, Node: 1, Name: []byte("dns"), Flags: shard.FlagForce})
			}, false,
		},
	} {
		b := readBed(t)
		cmd := command(b, shard.CmdRolloutReport, same)
		c.change(b, cmd)
		before := b.M.Digest()
		if _, is := Unchanged(b.M, cmd, 0); is != c.is || b.M.Digest() != before {
			t.Errorf("%s: %v, changed: %v", name, is, b.M.Digest() != before)
		}
	}
	b := readBed(t)
	cmd := command(b, shard.CmdRolloutReport, same)
	if _, is := Unchanged(b.M, cmd, 5001); is {
		t.Error("the version for man is due, and it is answered without the log")
	}
	for range 3 { // the session's own answers count as executed
		if _, is := Unchanged(b.M, cmd, 0); !is {
			t.Fatal("one after another is not answered")
		}
		cmd.Number, cmd.Acked = cmd.Number+1, cmd.Acked+1
	}
	cmd.Kind = shard.CmdRolloutAsk
	if target, is := Unchanged(b.M, cmd, 0); !is || target.Generation != 2 || string(target.Payload) != "two" {
		t.Errorf("an ask is answered %+v %v", target, is)
	}
}
