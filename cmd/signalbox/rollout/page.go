package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
	"github.com/signalbox/signalbox/gateway/operation"
)

// Location states.
const (
	stateNoTarget = "no target"
	stateReached  = "reached"
	stateOlder    = "older"  // the target is reached, and a newer version exists
	stateWaived   = "waived" // an operator declared the target reached, and leaders have not reached it
	stateUpdating = "updating"
	stateGate     = "at a gate"
	stateFailing  = "failing"
	stateStuck    = "stuck"
	stateGivenUp  = "given up"
	stateBack     = "going back"
	stateBypassed = "bypassed"
)

// view is a rollout in display form, some time after the read. In JSON, only the state is printed.
type view struct {
	*rollout.State
	liveview.Ages
	path, name string
	labels     map[uint64]string // version labels
}

func newView(path, name string, s *rollout.State, elapsed time.Duration) *view {
	return &view{s, liveview.After(elapsed), path, name, labelsOf(s.Versions)}
}

// labelsOf maps version numbers to labels.
func labelsOf(versions []rollout.Version) map[uint64]string {
	labels := make(map[uint64]string, len(versions))
	for _, v := range versions {
		labels[v.Seq] = v.Label
	}
	return labels
}

// version formats a version with its label.
func (v *view) version(seq uint64) string { return versionText(seq, v.labels[seq]) }

// newest returns the newest version that was not withdrawn, 0 if there is none.
func newest(s *rollout.State) uint64 {
	for _, v := range slices.Backward(s.Versions) {
		if !v.Withdrawn {
			return v.Seq
		}
	}
	return 0
}

// locationState describes a location's state in a word, compared with the newest version.
func locationState(l *rollout.LocationState, newest uint64) string {
	t := &l.Target
	switch {
	case l.Bypassed:
		return stateBypassed
	case l.Back != 0:
		return stateBack
	case t.Generation == 0:
		return stateNoTarget
	case t.Abandoned.Happened:
		return stateGivenUp
	case t.Reached.Happened && t.Seq < newest:
		return stateOlder
	case t.Reached.Happened && t.Waived && (l.Leaders == 0 || l.Reached < l.Leaders):
		return stateWaived
	case t.Reached.Happened:
		return stateReached
	case l.Stalled:
		return stateStuck
	case l.Failing > 0:
		return stateFailing
	case l.Leaders > 0 && l.Reached == l.Leaders:
		return stateGate
	}
	return stateUpdating
}

// lastMoment returns when a target was given up, reached or, before either, assigned.
func lastMoment(t *rollout.Row) rollout.Timestamp {
	switch {
	case t.Abandoned.Happened:
		return t.Abandoned
	case t.Reached.Happened:
		return t.Reached
	}
	return t.Assigned
}

// phaseColours maps phases to colours.
var phaseColours = map[rollout.Phase]cli.Colour{
	rollout.Idle: cli.Green, rollout.Rolling: cli.Green, rollout.RollingBack: cli.Yellow, rollout.Paused: cli.Yellow,
	rollout.Blocked: cli.Red, rollout.Halted: cli.Red,
}

// Page formats a rollout for display. Long lines are broken if columns is not 0.
func (v *view) Page(f *cli.Frame, columns int) string {
	if !v.Exists {
		return fmt.Sprintf("rollout %s in %s does not exist\n", cli.Safe(v.name), cli.Safe(v.path))
	}
	var b strings.Builder
	newest := "no version yet"
	if v.LastSeq != 0 {
		newest = "the newest is version " + v.version(v.LastSeq)
	}
	fmt.Fprintf(&b, "rollout %s in %s   %s   %s\n", f.Paint(cli.Bold, cli.Safe(v.name)), cli.Safe(v.path),
		f.Paint(phaseColours[v.Phase], v.Phase.String()), newest)
	notes := cli.Map(v.Reasons, func(r rollout.BlockReason) string { return reasonText(v.Ages, &r) })
	if v.Declined != "" {
		notes = append(notes, "the source provided no version: "+v.Declined)
	}
	if len(v.Locations) > 0 {
		b.WriteString("\n" + v.table(f))
	}
	if a := &v.LastAct; a.ID != 0 {
		if len(notes) > 0 {
			notes = append(notes, "")
		}
		notes = append(notes, fmt.Sprintf("last action, %s ago: %s", v.Ago(a.At), actLine(a)))
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range notes {
		b.WriteString(liveview.Wrapped(cli.Safe(n), columns) + "\n")
	}
	return b.String()
}

// table returns a line for every location.
func (v *view) table(f *cli.Frame) string {
	rows := f.Rows("LOCATION", "VERSION#", "LABEL", "STATE", "SINCE#", "REACHED", "NEXT", "GATES", "+GENERATION#",
		"+CAUSE", "+INSTANCES#", "+FAILING#", "+RE-ELECTIONS#")
	for i := range v.Locations {
		l := &v.Locations[i]
		t, cause := &l.Target, ""
		if t.Generation != 0 {
			cause = t.Cause.String()
		}
		rows.AddCells(l.Name, operation.OrNothing(t.Seq), v.labels[t.Seq], locationState(l, newest(v.State)),
			v.Ago(lastMoment(t)), operation.OutOf(l.Reached, l.Leaders), v.next(l.Name), gatesText(l.Gates),
			operation.OrNothing(t.Generation), cause, l.Instances, l.Failing, l.Reelections)
	}
	return rows.Text()
}

// next returns a location's next version, and when the location gets it.
func (v *view) next(location string) string {
	for _, r := range v.Reasons {
		if r.Location == location && r.Code == rollout.ReasonDelay && r.Left != 0 {
			return fmt.Sprintf("%d in %s", r.Seq, v.Left(r.Left))
		}
	}
	return ""
}

// gatesText formats gates with their verdicts.
func gatesText(gates []rollout.GateState) string {
	return strings.Join(cli.Map(gates, func(g rollout.GateState) string {
		return fmt.Sprintf("%s %v", g.Name, g.Verdict.Result)
	}), ", ")
}

// reasonText formats a reason for display.
func reasonText(a liveview.Ages, r *rollout.BlockReason) string {
	if r.Left == 0 {
		return r.Text
	}
	return r.Text + ", in " + a.Left(r.Left)
}

// actLine formats an action for display.
func actLine(a *rollout.ActionRecord) string {
	var b strings.Builder
	b.WriteString(operation.ActWords(a))
	if len(a.Locations) > 0 {
		b.WriteString(" " + strings.Join(a.Locations, ", "))
	}
	if a.Seq != 0 {
		fmt.Fprintf(&b, " to version %d", a.Seq)
	}
	if a.By.Author != "" {
		b.WriteString(" by " + a.By.Author)
	}
	return b.String() + cli.BehindColon(a.By.Reason)
}

// versionText formats a version with its label.
func versionText(seq uint64, label string) string {
	if label == "" {
		return fmt.Sprint(seq)
	}
	return fmt.Sprintf("%d (%s)", seq, label)
}
