package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// The states of members.
const (
	memberWaits     = "waits" // for the next epoch
	memberPreparing = "preparing"
	memberPrepared  = "prepared"
	memberHandles   = "handles the completion"
	memberCompleted = "completed"
)

// The roles of members.
const (
	roleCoordinator = "coordinator"
	roleCandidate   = "candidate"
	roleObserver    = "observer" // never coordinates
)

const (
	// membersShown is how many members a page has, and resultsShown how many results.
	membersShown = 20
	resultsShown = 3
)

// The phases of processes.
const (
	phaseForming   = "forming"
	phasePreparing = "preparing"
	phaseRunning   = "running"
	phaseComplete  = "complete"
)

// stateIn says in words how a member is in a process.
func (m *processMemberObject) stateIn(o *processObject) string {
	switch {
	case !m.Of:
		return memberWaits
	case m.Prepared != o.Epoch:
		return memberPreparing
	case m.Completed == o.Epoch:
		return memberCompleted
	case o.Phase == phaseComplete:
		return memberHandles
	}
	return memberPrepared
}

// ready reports whether the round does not wait for the member to prepare, or to handle the completion.
func (m *processMemberObject) ready() bool {
	return m.State == memberPrepared || m.State == memberCompleted
}

// processColours are those of the phases.
var processColours = map[string]cli.Colour{
	phaseForming: cli.Yellow, phasePreparing: cli.Yellow, phaseRunning: cli.Green, phaseComplete: cli.Green,
}

// page is a process as people look at it. Lines that can be long are broken where columns is not 0.
func (o *processObject) page(f *cli.Frame, columns int) string {
	if !o.Exists {
		return fmt.Sprintf("process %s in %s does not exist\n", cli.Safe(o.Name), cli.Safe(o.Path))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "process %s in %s   %s for %s   %s\n", f.Paint(cli.Bold, cli.Safe(o.Name)), cli.Safe(o.Path),
		f.Paint(processColours[o.Phase], o.Phase), ago(o.PhaseMS), cli.Safe(o.epochText()))
	if len(o.Members) > 0 {
		b.WriteString("\n" + o.memberTable(f))
	}
	paragraph := func(lines []string) {
		if len(lines) > 0 {
			b.WriteString("\n")
		}
		for _, line := range lines {
			b.WriteString(wrapped(cli.Safe(line), columns) + "\n")
		}
	}
	var reasons []string
	for _, r := range o.Reasons {
		reasons = append(reasons, r.line())
	}
	paragraph(reasons)
	paragraph(o.lastResults())
	if a := o.LastAct; a != nil {
		paragraph([]string{fmt.Sprintf("last act, %s ago: %s", ago(a.AgeMS), a.line())})
	}
	return b.String()
}

// hostTime finds how long something has been so, or until when, as hosts say it.
var hostTime = regexp.MustCompile(`\b(for|in) ([0-9]+h[0-9]+m|[0-9m.]+s)\b`)

// line is a reason as people read it.
func (r *processReasonObject) line() string {
	return hostTime.ReplaceAllStringFunc(r.Text, func(said string) string {
		switch {
		case strings.HasPrefix(said, "for") && r.AgeMS != nil:
			return "for " + shortTime(*r.AgeMS)
		case strings.HasPrefix(said, "in") && r.EndsMS != nil:
			return "in " + shortTime(*r.EndsMS)
		}
		return said
	})
}

// epochText says which epoch there is, and who coordinates it.
func (o *processObject) epochText() string {
	text := "no epoch yet"
	switch {
	case o.Epoch != 0 && o.Of == 0:
		text = fmt.Sprintf("after epoch %d", o.Epoch)
	case o.Epoch != 0:
		text = fmt.Sprintf("epoch %d of %s, coordinated by %s", o.Epoch, plural(o.Of, "member"),
			o.memberText(o.Coordinator))
	}
	if o.OpensMS != nil {
		text += ", the next opens in " + shortTime(*o.OpensMS)
	}
	return text
}

// member returns a member, nil where it has gone.
func (o *processObject) member(id uint64) *processMemberObject {
	for i := range o.Members {
		if o.Members[i].ID == id {
			return &o.Members[i]
		}
	}
	return nil
}

// memberText is a member as people read it.
func (o *processObject) memberText(id uint64) string {
	if m := o.member(id); m != nil {
		return m.text()
	}
	return fmt.Sprintf("member %d, which has left", id)
}

func (m *processMemberObject) text() string { return fmt.Sprintf("%s (%d)", m.Member, m.ID) }

// memberTable has a line for each member, or for as many as a page has room for.
func (o *processObject) memberTable(f *cli.Frame) string {
	rows := memberRows(f)
	shown := o.membersFirst()
	for _, m := range shown {
		rows.AddCells(m.cells()...)
	}
	text := rows.Text()
	if left := len(o.Members) - len(shown); left > 0 {
		text += fmt.Sprintf("... and %d more: signalbox process members\n", left)
	}
	return text
}

// membersFirst are as many members as a page has room for, in their order: those that are not ready before the others.
func (o *processObject) membersFirst() []*processMemberObject {
	var shown, ready []*processMemberObject
	for i := range o.Members {
		if m := &o.Members[i]; m.ready() {
			ready = append(ready, m)
		} else if len(shown) < membersShown {
			shown = append(shown, m)
		}
	}
	shown = append(shown, ready[:min(len(ready), membersShown-len(shown))]...)
	slices.SortFunc(shown, func(a, b *processMemberObject) int { return cmp.Compare(a.ID, b.ID) })
	return shown
}

// memberRows begins a table of members.
func memberRows(f *cli.Frame) *cli.Rows {
	return f.Rows("MEMBER", "ID#", "ROLE", "STATE", "UNREAD#", "JOINED#", "+PREPARED#", "+COMPLETED#", "+SESSION#",
		"+ATTRIBUTES")
}

// cells are those of a member in a table of members.
func (m *processMemberObject) cells() []any {
	return []any{m.Member, m.ID, m.Role, m.State, m.Unread, ago(m.JoinedMS), orNothing(m.Prepared),
		orNothing(m.Completed), m.SessionID, m.Bytes()}
}

// lastResults has a line for each of the newest results.
func (o *processObject) lastResults() []string {
	var lines []string
	for i := len(o.Results) - 1; i >= 0 && len(lines) < resultsShown; i-- {
		r := &o.Results[i]
		lines = append(lines, fmt.Sprintf("epoch %d was complete %s ago, with a result of %s", r.Epoch, ago(r.AgeMS),
			plural(r.Bytes, "byte")))
	}
	return lines
}

// line is an act as people read it.
func (a *processActObject) line() string {
	var b strings.Builder
	b.WriteString(a.Act)
	if a.Member != "" {
		fmt.Fprintf(&b, " of %s (%d)", a.Member, a.MemberID)
	}
	if a.Author != "" {
		b.WriteString(" by " + a.Author)
	}
	return b.String() + behindColon(a.Reason)
}
