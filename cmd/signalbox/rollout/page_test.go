package rollout

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

func happened(ago time.Duration) rollout.Timestamp {
	return rollout.Timestamp{Happened: true, Ago: ago}
}

// rolloutState is a rollout with many simultaneous conditions.
func rolloutState() *rollout.State {
	return &rollout.State{
		Exists: true, Revision: 9, Phase: rollout.Blocked, LastSeq: 18, Generation: 7,
		Versions: []rollout.Version{{Seq: 17}, {Seq: 18, Label: "r9554"}},
		LastAct: rollout.ActionRecord{ID: 2, At: happened(3 * time.Minute), Action: rollout.Action{
			Kind: rollout.Promote, Locations: []string{"man"}, Seq: 18,
			By: rollout.ChangeInfo{Author: "ann@box", Reason: "hotfix"}}},
		Locations: []rollout.LocationState{
			{
				Location: rollout.Location{Name: "sas"}, Counts: rollout.Counts{Leaders: 2, Reached: 2, Instances: 3},
				Target: rollout.Row{Seq: 18, Generation: 5, Assigned: happened(20 * time.Second),
					Reached: happened(12 * time.Second), Cause: rollout.CauseNext},
			},
			{
				Location: rollout.Location{Name: "man", Gates: []string{"errors"}},
				Counts:   rollout.Counts{Leaders: 5, Reached: 3, Instances: 5},
				Target: rollout.Row{Seq: 18, Generation: 6, Assigned: happened(4200 * time.Millisecond),
					Cause: rollout.CauseNext},
				Gates: []rollout.GateState{{Name: "errors", Verdict: rollout.Verdict{Result: rollout.GatePending}}},
			},
			{
				Location: rollout.Location{Name: "vla"}, Counts: rollout.Counts{Leaders: 1, Reached: 1, Instances: 1},
				Target: rollout.Row{Seq: 17, Generation: 4, Assigned: happened(2 * time.Hour),
					Reached: happened(90 * time.Minute), Cause: rollout.CauseInitial},
			},
		},
		Reasons: []rollout.BlockReason{
			{Code: rollout.ReasonLeaders, Location: "man", Seq: 18,
				Text: "man waits for 2 of 5 leaders: a.man (updating 4 s, attempt 3), " +
					"b.man (has not heard of generation 6)"},
			{Code: rollout.ReasonDelay, Location: "vla", Seq: 18, Left: 5 * time.Second,
				Text: "vla gets version 18 when its delay is over"},
		},
	}
}

func plainFrame(out *bytes.Buffer) *cli.Frame { return cli.NewFrame(cli.Streams{Out: out, Err: out}) }

func TestAPageShowsAWholeRollout(t *testing.T) {
	f := plainFrame(&bytes.Buffer{})
	const want = `rollout dns in /prod   blocked   the newest is version 18 (r9554)

LOCATION   VERSION   LABEL   STATE      SINCE   REACHED   NEXT       GATES
sas             18   r9554   reached      13s   2 of 2    -          -
man             18   r9554   updating    5.2s   3 of 5    -          errors pending
vla             17   -       older      1h30m   1 of 1    18 in 4s   -

man waits for 2 of 5 leaders: a.man (updating 4 s, attempt
  3), b.man (has not heard of generation 6)
vla gets version 18 when its delay is over, in 4s

last action, 3m1s ago: promote man to version 18 by ann@box:
  hotfix
`
	// The state is a second old.
	page := newView("/prod", "dns", rolloutState(), time.Second).Page(f, 60)
	if page != want {
		t.Errorf("got\n%s\nwant\n%s", page, want)
	}
	for line := range strings.Lines(page) {
		if strings.Contains(line, "leaders") && utf8.RuneCountInString(line) > 61 {
			t.Errorf("too wide: %s", line)
		}
	}
	if page := newView("/prod", "dns", &rollout.State{}, 0).Page(f, 0); page !=
		"rollout dns in /prod does not exist\n" {
		t.Errorf("none: %s", page)
	}
}

func TestStatesOfLocations(t *testing.T) {
	assigned := rollout.Row{Seq: 1, Generation: 1, Assigned: happened(0)}
	reached, waived, abandoned := assigned, assigned, assigned
	reached.Reached, waived.Reached, waived.Waived, abandoned.Abandoned = happened(0), happened(0), true, happened(0)
	for want, l := range map[string]rollout.LocationState{
		stateNoTarget: {},
		stateUpdating: {Target: assigned, Counts: rollout.Counts{Leaders: 2, Reached: 1}},
		stateGate:     {Target: assigned, Counts: rollout.Counts{Leaders: 2, Reached: 2}},
		stateReached:  {Target: reached, Counts: rollout.Counts{Failing: 1}},
		stateOlder:    {Target: rollout.Row{Seq: 0, Generation: 1, Reached: happened(0)}},
		stateWaived:   {Target: waived, Counts: rollout.Counts{Leaders: 2, Reached: 1}},
		stateGivenUp:  {Target: abandoned, Stalled: true},
		stateFailing:  {Target: assigned, Counts: rollout.Counts{Leaders: 2, Failing: 1}},
		stateStuck:    {Target: assigned, Counts: rollout.Counts{Failing: 1}, Stalled: true},
		stateBack:     {Target: reached, Back: 1},
		stateBypassed: {Target: reached, Back: 1, Bypassed: true},
	} {
		if got := locationState(&l, 1); got != want {
			t.Errorf("%+v is %s, want %s", l, got, want)
		}
	}
}

// TestWaivedLocationThatHasTheVersionReachedIt: a location is no longer waived when all its leaders have reached the
// version. A withdrawn version makes no location older.
func TestWaivedLocationThatHasTheVersionReachedIt(t *testing.T) {
	l := rollout.LocationState{Counts: rollout.Counts{Leaders: 2, Reached: 2},
		Target: rollout.Row{Seq: 1, Generation: 1, Reached: happened(0), Waived: true}}
	s := &rollout.State{Versions: []rollout.Version{{Seq: 1}, {Seq: 2, Withdrawn: true}}}
	if got := locationState(&l, newest(s)); got != stateReached {
		t.Errorf("it is %s", got)
	}
}

func TestTimesAtAGlance(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1234 * time.Millisecond: "1.2s", 41700 * time.Millisecond: "41s", 90 * time.Second: "1m30s",
		2*time.Hour + 5*time.Minute + 7*time.Second: "2h5m", 75 * time.Hour: "3d",
	} {
		if got := operation.ShortTime(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

func TestChangesAreLines(t *testing.T) {
	object := func(change func(s *rollout.State)) *view {
		s := rolloutState()
		if change != nil {
			change(s)
		}
		return newView("/prod", "dns", s, 0)
	}
	gone := newView("/prod", "dns", &rollout.State{}, 0)
	for _, c := range []struct {
		before, now *view
		want        []string
	}{
		{nil, gone, []string{"dns        does not exist"}},
		{object(nil), gone, []string{"dns        is deleted"}},
		{object(nil), object(nil), nil},
		{nil, object(nil), []string{
			"dns        promote man to version 18 by ann@box: hotfix",
			"dns        the newest is version 18 (r9554)", "dns        blocked",
			"sas        gets version 18 (r9554): next",
			"sas        has reached version 18 (r9554) after 8s", "man        gets version 18 (r9554): next",
			"vla        gets version 17: initial", "vla        has reached version 17 after 30m0s",
		}},
		{object(nil), object(func(s *rollout.State) { s.Phase = rollout.Halted }), []string{"dns        halted"}},
		{object(nil), object(func(s *rollout.State) { s.Locations[1].Target.Reached = happened(0) }),
			[]string{"man        has reached version 18 (r9554) after 4.2s"}},
		{object(nil), object(func(s *rollout.State) { s.Locations[0].Target.Reached = rollout.Timestamp{} }),
			[]string{"sas        has not reached version 18 (r9554) any more"}},
		{object(nil), object(func(s *rollout.State) {
			s.Locations[1].Target.Abandoned, s.Locations[1].Target.Note = happened(0), "exit-3"
		}), []string{"man        abandons version 18 (r9554): exit-3"}},
		{object(nil), object(func(s *rollout.State) {
			s.Locations[1].Gates[0].Verdict = rollout.Verdict{Result: rollout.GateFailed, Text: "5 % of errors"}
		}), []string{"man        gate errors: failed: 5 % of errors"}},
		{object(nil), object(func(s *rollout.State) { s.Locations[1].Stalled, s.Locations[2].Bypassed = true, true }),
			[]string{"man        is stuck", "vla        is bypassed"}},
		{object(nil), object(func(s *rollout.State) { s.Locations[0].Back = 17 }),
			[]string{"sas        rolls back to version 17 after the location before"}},
	} {
		if got := c.now.Changes(c.before); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
