package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// The states of locations.
const (
	stateNoTarget = "no target"
	stateReached  = "reached"
	stateWaived   = "waived" // an operator said that it counts as reached
	stateUpdating = "updating"
	stateGate     = "at a gate"
	stateFailing  = "failing"
	stateStuck    = "stuck"
	stateGivenUp  = "given up"
	stateBack     = "going back"
	stateBypassed = "bypassed"
)

// state says in a word how a location is.
func (l *locationObject) state() string {
	t := l.Target
	switch {
	case l.Bypassed:
		return stateBypassed
	case l.Back != 0:
		return stateBack
	case t == nil:
		return stateNoTarget
	case t.GivenUpMS != nil:
		return stateGivenUp
	case t.ReachedMS != nil && t.Waived:
		return stateWaived
	case t.ReachedMS != nil:
		return stateReached
	case l.Stuck:
		return stateStuck
	case l.Failing > 0:
		return stateFailing
	case l.Leaders > 0 && l.Reached == l.Leaders:
		return stateGate
	}
	return stateUpdating
}

// since is how long ago the location's target was reached, given up or, where it is neither, assigned.
func (l *locationObject) since() *int64 {
	t := l.Target
	switch {
	case t == nil:
		return nil
	case t.GivenUpMS != nil:
		return t.GivenUpMS
	case t.ReachedMS != nil:
		return t.ReachedMS
	}
	return t.AssignedMS
}

// phaseColours are those of the phases.
var phaseColours = map[string]cli.Colour{
	"idle": cli.Green, "rolling": cli.Green, "rolling back": cli.Yellow, "paused": cli.Yellow, "blocked": cli.Red,
	"halted": cli.Red,
}

// page is a rollout as people look at it. Lines that can be long are broken where columns is not 0.
func (o *rolloutObject) page(f *cli.Frame, columns int) string {
	if !o.Exists {
		return fmt.Sprintf("rollout %s in %s does not exist\n", cli.Safe(o.Name), cli.Safe(o.Path))
	}
	var b strings.Builder
	newest := "no version yet"
	if o.Newest != 0 {
		newest = "the newest is version " + versionText(o.Newest, o.Label)
	}
	fmt.Fprintf(&b, "rollout %s in %s   %s   %s\n", f.Paint(cli.Bold, cli.Safe(o.Name)), cli.Safe(o.Path),
		f.Paint(phaseColours[o.Phase], o.Phase), newest)
	var notes []string
	for _, r := range o.Reasons {
		notes = append(notes, r.line())
	}
	if o.Declined != "" {
		notes = append(notes, "the source had no version: "+o.Declined)
	}
	if len(o.Locations) > 0 {
		b.WriteString("\n" + o.table(f))
	}
	if a := o.LastAct; a != nil {
		if len(notes) > 0 {
			notes = append(notes, "")
		}
		notes = append(notes, fmt.Sprintf("last act, %s ago: %s", shortTime(a.AgeMS), a.line()))
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range notes {
		b.WriteString(wrapped(cli.Safe(n), columns) + "\n")
	}
	return b.String()
}

// table has a line for each location.
func (o *rolloutObject) table(f *cli.Frame) string {
	rows := f.Rows("LOCATION", "VERSION#", "LABEL", "STATE", "SINCE#", "REACHED", "NEXT", "GATES", "+GENERATION#",
		"+CAUSE", "+INSTANCES#", "+FAILING#", "+RE-ELECTIONS#")
	for i := range o.Locations {
		l := &o.Locations[i]
		var t targetObject
		if l.Target != nil {
			t = *l.Target
		}
		rows.AddCells(l.Location, orNothing(t.Version), t.Label, l.State, ago(l.since()),
			outOf(l.Reached, l.Leaders), l.nextText(), l.gatesText(), orNothing(t.Generation), t.Cause,
			l.Instances, l.Failing, l.Reelections)
	}
	return rows.Text()
}

// nextText is the version that the location gets next, and when.
func (l *locationObject) nextText() string {
	if l.Next == 0 || l.NextMS == nil {
		return ""
	}
	return fmt.Sprintf("%d in %s", l.Next, shortTime(*l.NextMS))
}

// gatesText are the gates with their verdicts.
func (l *locationObject) gatesText() string {
	var gates []string
	for _, g := range l.Gates {
		gates = append(gates, g.Gate+" "+g.Verdict)
	}
	return strings.Join(gates, ", ")
}

// line is a reason as people read it.
func (r *reasonObject) line() string {
	text := r.Text
	if r.EndsMS != nil {
		text += ", in " + shortTime(*r.EndsMS)
	}
	return text
}

// what is what was done, in words.
func (a *actObject) what() string {
	if a.Fast {
		return a.Act + " --fast"
	}
	return a.Act
}

// line is an act as people read it.
func (a *actObject) line() string {
	var b strings.Builder
	b.WriteString(a.what())
	if len(a.Locations) > 0 {
		b.WriteString(" " + strings.Join(a.Locations, ", "))
	}
	if a.Version != 0 {
		fmt.Fprintf(&b, " to version %d", a.Version)
	}
	if a.Author != "" {
		b.WriteString(" by " + a.Author)
	}
	if a.Reason != "" {
		b.WriteString(": " + a.Reason)
	}
	return b.String()
}

// versionText is a version with its label.
func versionText(seq uint64, label string) string {
	if label == "" {
		return fmt.Sprint(seq)
	}
	return fmt.Sprintf("%d (%s)", seq, label)
}

// outOf is a part of a number as tables show it.
func outOf(n, all int) string { return fmt.Sprintf("%d of %d", n, all) }

// orNothing is a number as tables show it, nothing for 0.
func orNothing(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// ago is an age as tables show it, nothing where there is none.
func ago(ms *int64) string {
	if ms == nil {
		return ""
	}
	return shortTime(*ms)
}

// shortTime is a time as people read it at a glance.
func shortTime(ms int64) string {
	d := millis(ms)
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Truncate(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// wrapped breaks a line between words so that it is no wider than that; what goes on is indented.
func wrapped(line string, columns int) string {
	const indent = "  "
	if columns <= 0 {
		return line
	}
	var b strings.Builder
	width := 0
	for i, word := range strings.Split(line, " ") {
		n := len([]rune(word))
		switch {
		case i == 0:
		case width+1+n > columns:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}
