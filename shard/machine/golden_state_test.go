package machine_test

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// goldenDrawing is a State that draws itself: counters, sessions with their cached answers, and semaphores with a line
// for each owner, after a bar, and each waiter, after a dot.
type goldenDrawing struct {
	shard.State
	name func(shard.SessionID) string
}

// answersShown is the maximum number of a session's cached answers to draw; if there are more, only their number is
// drawn.
const answersShown = 8

func (d goldenDrawing) lines() []string {
	lines := []string{fmt.Sprintf("last order=%d rev=%d session=%d term=%d",
		d.LastOrder, d.LastRevision, d.LastSession, d.Term) +
		drawTime("since", d.TimeBase) + drawTime("time", d.Now) +
		drawLimits(shard.Limits{Objects: d.ObjectLimit, Bytes: d.ByteLimit})}
	for _, x := range d.Slots {
		line := fmt.Sprintf("slot %d %s generation=%d seen=%d", x.Slot, x.State, x.Generation, x.Seen)
		if x.To != 0 {
			line += fmt.Sprintf(" shard=%d", x.To)
		}
		lines = append(lines, line+drawText("why", x.Why))
	}
	for _, n := range d.Nodes {
		line := fmt.Sprintf("node %d", n.ID)
		if n.Dropping {
			line += " is being dropped"
		}
		line += drawLimits(shard.Limits{Objects: n.ObjectLimit, Bytes: n.ByteLimit})
		lines = append(lines, line)
	}
	for i := range d.Sessions {
		lines = append(lines, d.session(&d.Sessions[i])...)
	}
	for i := range d.Semaphores {
		lines = append(lines, d.semaphore(&d.Semaphores[i])...)
	}
	for _, p := range d.Pending {
		switch {
		case p.Session != 0:
			lines = append(lines, "pending: the end of "+d.name(p.Session))
		case p.Deleting:
			lines = append(lines, "pending: the deletion of "+drawName(p.Node, p.Name))
		default:
			lines = append(lines, "pending: the queue of "+drawName(p.Node, p.Name))
		}
	}
	return lines
}

// drawLimits draws quotas that were set.
func drawLimits(l shard.Limits) string {
	line := ""
	if l.Objects != 0 {
		line += fmt.Sprintf(" objects=%d", l.Objects)
	}
	if l.Bytes != 0 {
		line += fmt.Sprintf(" bytes=%d", l.Bytes)
	}
	return line
}

func (d goldenDrawing) session(s *shard.SessionState) []string {
	line := "session " + d.name(s.ID) + drawNode(s.Node)
	if s.Home {
		line += " timeout=" + drawMillis(s.Timeout)
	} else {
		line = strings.Replace(line, "session", "remote", 1)
	}
	line += fmt.Sprintf(" applied=%d acked=%d", s.Applied, s.Acked)
	if s.SequenceSpace != 0 {
		line += fmt.Sprintf(" number-space=%d", s.SequenceSpace)
	}
	if s.Losses != 0 {
		line += fmt.Sprintf(" losses=%d", s.Losses)
	}
	if d.SlotChanges > 0 && len(s.Slots) > 0 {
		line += fmt.Sprintf(" slots=%v", s.Slots)
	}
	line += drawText("details", s.Details) + drawText("key", s.Key)
	line += drawTime("created", s.Created)
	line += drawText("from", s.Client.Address) + drawText("client", s.Client.Name) +
		drawText("version", s.Client.Version)
	lines := []string{line}
	if len(s.Answers) > answersShown {
		return append(lines, fmt.Sprintf("  %d answers, #%d to #%d",
			len(s.Answers), s.Answers[0].Number, s.Answers[len(s.Answers)-1].Number))
	}
	for i := range s.Answers {
		a := &s.Answers[i]
		lines = append(lines, fmt.Sprintf("  #%d %s", a.Number, drawAnswer(a)))
	}
	return lines
}

func (d goldenDrawing) semaphore(s *shard.SemaphoreState) []string {
	taken := uint64(0)
	for _, l := range s.Links {
		if l.Owner {
			taken += l.Count
		}
	}
	line := "semaphore " + drawHead(drawName(s.Node, s.Name), taken, s.Limit, s.Ephemeral, s.Revision)
	lines := []string{line + drawText("data", s.Data)}
	for _, l := range s.Links {
		lines = append(lines, drawLink(fmt.Sprintf("%s#%d", d.name(l.Session), l.Number), shard.LinkView{
			Order: l.Order, Count: l.Count, Timeout: l.Timeout, Data: l.Data, Owner: l.Owner, Since: l.Since,
		}))
	}
	return lines
}

func drawHead(name string, taken, limit uint64, ephemeral bool, rev shard.Revision) string {
	line := fmt.Sprintf("%s %s of %s taken, rev=%d", name, drawCount(taken), drawCount(limit), rev)
	if ephemeral {
		line += ", ephemeral"
	}
	return line
}

func drawLink(who string, l shard.LinkView) string {
	if l.Owner {
		return fmt.Sprintf("  | %s order=%d count=%s%s%s", who, l.Order, drawCount(l.Count), drawText("data", l.Data),
			drawTime("since", l.Since))
	}
	return fmt.Sprintf("  . %s order=%d count=%s timeout=%s%s%s",
		who, l.Order, drawCount(l.Count), drawMillis(l.Timeout), drawText("data", l.Data), drawTime("since", l.Since))
}

// drawTime draws a time relative to the start, and nothing if unknown.
func drawTime(key string, ms uint64) string {
	if ms == 0 {
		return ""
	}
	return " " + key + "=" + drawMillis(ms)
}
