package process

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
	"github.com/signalbox/signalbox/gateway/operation"
)

// Member states.
const (
	memberWaits     = "waits" // for the next epoch
	memberPreparing = "preparing"
	memberPrepared  = "prepared"
	memberHandles   = "handles the completion"
	memberCompleted = "completed"
)

// Member roles.
const (
	roleCoordinator = "coordinator"
	roleCandidate   = "candidate"
	roleObserver    = "observer" // never coordinates
)

const (
	// membersShown is the number of members on a page, and resultsShown the number of results.
	membersShown = 20
	resultsShown = 3
)

// view is a process in display form, some time after the read. In JSON, only the state is printed.
type view struct {
	*process.State
	liveview.Ages
	path, name string
}

// state describes a member's state.
func (v *view) state(m *process.MemberState) string {
	switch {
	case !m.Of:
		return memberWaits
	case m.Prepared != v.Epoch:
		return memberPreparing
	case m.Completed == v.Epoch:
		return memberCompleted
	case v.Phase == process.Complete:
		return memberHandles
	}
	return memberPrepared
}

// ready reports whether the round does not wait for the member to prepare, or to handle the completion.
func (v *view) ready(m *process.MemberState) bool {
	state := v.state(m)
	return state == memberPrepared || state == memberCompleted
}

// role returns the member's role in the epoch.
func (v *view) role(m *process.MemberState) string {
	switch {
	case m.Of && m.ID == v.Coordinator:
		return roleCoordinator
	case !m.Candidate:
		return roleObserver
	}
	return roleCandidate
}

// phaseColours maps phases to colours.
var phaseColours = map[process.Phase]cli.Colour{
	process.Forming: cli.Yellow, process.Preparing: cli.Yellow, process.Running: cli.Green, process.Complete: cli.Green,
}

// Page formats a process for display. Long lines are broken if columns is not 0.
func (v *view) Page(f *cli.Frame, columns int) string {
	if !v.Exists {
		return fmt.Sprintf("process %s in %s does not exist\n", cli.Safe(v.name), cli.Safe(v.path))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "process %s in %s   %s for %s   %s\n", f.Paint(cli.Bold, cli.Safe(v.name)), cli.Safe(v.path),
		f.Paint(phaseColours[v.Phase], v.Phase.String()), v.Ago(v.Since), cli.Safe(v.epochText()))
	if len(v.Members) > 0 {
		b.WriteString("\n" + v.memberTable(f))
	}
	paragraph := func(lines []string) {
		if len(lines) > 0 {
			b.WriteString("\n")
		}
		for _, line := range lines {
			b.WriteString(liveview.Wrapped(cli.Safe(line), columns) + "\n")
		}
	}
	paragraph(cli.Map(v.Reasons, func(r process.BlockReason) string { return stopText(v.Ages, &r) }))
	paragraph(v.lastResults())
	if a := &v.LastAct; a.At.Happened {
		paragraph([]string{fmt.Sprintf("last action, %s ago: %s", v.Ago(a.At), actLine(a))})
	}
	return b.String()
}

// hostTime matches durations in host messages: how long something has lasted, or until when.
var hostTime = regexp.MustCompile(`\b(for|in) ([0-9]+h[0-9]+m|[0-9m.]+s)\b`)

// stopText describes the reason why a round is stalled.
func stopText(a liveview.Ages, r *process.BlockReason) string {
	return hostTime.ReplaceAllStringFunc(r.Text, func(said string) string {
		switch {
		case strings.HasPrefix(said, "for") && r.Since.Happened:
			return "for " + a.Ago(r.Since)
		case strings.HasPrefix(said, "in") && r.Left != 0:
			return "in " + a.Left(r.Left)
		}
		return said
	})
}

// epochText names the epoch and its coordinating member.
func (v *view) epochText() string {
	text := "no epoch yet"
	switch {
	case v.Epoch != 0 && v.Of == 0:
		text = fmt.Sprintf("after epoch %d", v.Epoch)
	case v.Epoch != 0:
		text = fmt.Sprintf("epoch %d with %s, coordinated by %s", v.Epoch, operation.Plural(v.Of, "member"),
			v.memberText(v.Coordinator))
	}
	if v.Opening {
		text += ", the next opens in " + v.Left(v.Opens)
	}
	return text
}

// member returns a member, nil for a member that has left.
func (v *view) member(id uint64) *process.MemberState {
	return cli.Find(v.Members, func(m *process.MemberState) bool { return m.ID == id })
}

// memberText formats a member for display.
func (v *view) memberText(id uint64) string {
	if m := v.member(id); m != nil {
		return fmt.Sprintf("%s (%d)", m.Name, m.ID)
	}
	return fmt.Sprintf("member %d, left", id)
}

// memberTable returns a line for every member, up to the page limit.
func (v *view) memberTable(f *cli.Frame) string {
	rows := memberRows(f)
	shown := v.membersFirst()
	for _, m := range shown {
		rows.AddCells(v.cells(m)...)
	}
	text := rows.Text()
	if left := len(v.Members) - len(shown); left > 0 {
		text += fmt.Sprintf("... and %d more: signalbox process members\n", left)
	}
	return text
}

// membersFirst returns as many members as the page shows, in order. Members that are not ready come first.
func (v *view) membersFirst() []*process.MemberState {
	var shown, ready []*process.MemberState
	for i := range v.Members {
		if m := &v.Members[i]; v.ready(m) {
			ready = append(ready, m)
		} else if len(shown) < membersShown {
			shown = append(shown, m)
		}
	}
	shown = append(shown, ready[:min(len(ready), membersShown-len(shown))]...)
	slices.SortFunc(shown, func(a, b *process.MemberState) int { return cmp.Compare(a.ID, b.ID) })
	return shown
}

// memberRows begins a table of members.
func memberRows(f *cli.Frame) *cli.Rows {
	return f.Rows("MEMBER", "ID#", "ROLE", "STATE", "UNREAD#", "JOINED#", "+PREPARED#", "+COMPLETED#", "+SESSION#",
		"+ATTRIBUTES")
}

// cells returns a member's cells in a member table.
func (v *view) cells(m *process.MemberState) []any {
	return []any{m.Name, m.ID, v.role(m), v.state(m), m.Unread, v.Ago(m.Joined), operation.OrNothing(m.Prepared),
		operation.OrNothing(m.Completed), m.SessionID, m.Attributes}
}

// lastResults returns a line for each of the newest results.
func (v *view) lastResults() []string {
	var lines []string
	for i := len(v.Results) - 1; i >= 0 && len(lines) < resultsShown; i-- {
		r := &v.Results[i]
		lines = append(lines, fmt.Sprintf("epoch %d was complete %s ago, with a result of %s", r.Epoch, v.Ago(r.At),
			operation.Plural(r.Size, "byte")))
	}
	return lines
}

// actLine formats an action for display.
func actLine(a *process.ActionRecord) string {
	var b strings.Builder
	b.WriteString(a.Kind.String())
	if a.Member != "" {
		fmt.Fprintf(&b, " of %s (%d)", a.Member, a.MemberID)
	}
	if a.By.Author != "" {
		b.WriteString(" by " + a.By.Author)
	}
	return b.String() + cli.BehindColon(a.By.Reason)
}
