package twin

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// longestShown is the maximum number of bytes shown from a name or data.
const longestShown = 24

// quote shows a name or data. A long one is shortened to its start, length and checksum.
func quote[T string | []byte](s T) string {
	if len(s) <= longestShown {
		return strconv.Quote(string(s))
	}
	return fmt.Sprintf("%q...%d/%08x", string(s[:longestShown]), len(s), crc32.ChecksumIEEE([]byte(s)))
}

// amount shows a count, a limit or a timeout.
func amount(n uint64) string {
	if n == shard.Forever {
		return "all"
	}
	return strconv.FormatUint(n, 10)
}

// line collects the words of one line.
type line struct{ strings.Builder }

func (l *line) word(format string, args ...any) {
	if l.Len() > 0 {
		l.WriteByte(' ')
	}
	fmt.Fprintf(l, format, args...)
}

func (l *line) wordIf(show bool, format string, args ...any) {
	if show {
		l.word(format, args...)
	}
}

// CommandText formats a command on one line, without zero fields.
func CommandText(c *shard.Command) string {
	var l line
	l.word("%v", c.Kind)
	l.wordIf(c.Level != 0, "level=%d", c.Level)
	l.wordIf(c.Node != 0, "node=%d", c.Node)
	l.wordIf(len(c.Name) > 0, "name=%s", quote(c.Name))
	l.wordIf(c.Session != 0, "session=%v", c.Session)
	l.wordIf(c.Number != 0, "number=%d", c.Number)
	l.wordIf(c.Acked != 0, "acked=%d", c.Acked)
	l.wordIf(c.Slot != 0, "slot=%d", c.Slot)
	l.wordIf(c.Term != 0, "term=%d", c.Term)
	l.wordIf(c.Count != 0, "count=%s", amount(c.Count))
	l.wordIf(c.Timeout != 0, "timeout=%s", amount(c.Timeout))
	l.wordIf(c.Order != 0, "order=%d", c.Order)
	l.wordIf(c.Revision != 0, "revision=%d", c.Revision)
	l.wordIf(c.Sum != 0, "sum=%016x", c.Sum)
	l.wordIf(c.Time != 0, "time=%d", c.Time)
	l.wordIf(len(c.Client.Address) > 0, "address=%s", quote(c.Client.Address))
	l.wordIf(len(c.Client.Name) > 0, "client=%s", quote(c.Client.Name))
	l.wordIf(len(c.Client.Version) > 0, "version=%s", quote(c.Client.Version))
	l.wordIf(c.Bytes != 0, "bytes=%s", amount(c.Bytes))
	l.wordIf(len(c.Body) > 0, "body=%s", quote(c.Body))
	l.wordIf(len(c.Data) > 0, "data=%s", quote(c.Data))
	l.wordIf(len(c.Key) > 0, "key=%s", quote(c.Key))
	l.wordIf(c.Flags&shard.FlagEphemeral != 0, "ephemeral")
	l.wordIf(c.Flags&shard.FlagForce != 0, "force")
	l.wordIf(c.Flags&shard.FlagOperator != 0, "operator")
	if len(c.Sessions) > shard.MaxList {
		l.word("sessions...%d", len(c.Sessions))
	} else {
		for _, id := range c.Sessions {
			l.word("%v", id)
		}
	}
	return l.String()
}

var effectFlagNames = []struct {
	flag shard.EffectFlags
	name string
}{
	{shard.FlagAcquired, "acquired"},
	{shard.FlagQueued, "queued"},
	{shard.FlagReleased, "released"},
	{shard.FlagCreated, "created"},
	{shard.FlagData, "data"},
	{shard.FlagOwners, "owners"},
	{shard.FlagDeleted, "deleted"},
	{shard.FlagMore, "more"},
	{shard.FlagLimit, "limit"},
}

func (l *line) flags(flags shard.EffectFlags) {
	for _, f := range effectFlagNames {
		l.wordIf(flags&f.flag != 0, "%s", f.name)
	}
}

// EffectText formats an effect on one line, without zero fields except the status of a result.
func EffectText(e *shard.Effect) string {
	var l line
	l.word("%d: %v", e.Op, e.Kind)
	l.wordIf(e.Kind == shard.EffectResult || e.Status != 0, "%v", e.Status)
	l.wordIf(e.Quota != 0, "quota=%v", e.Quota)
	l.flags(e.Flags)
	l.wordIf(e.Kind == shard.EffectAborted || e.Abort != 0, "abort=%v", e.Abort)
	l.wordIf(e.Kind == shard.EffectSessionEnded || e.End != 0, "end=%v", e.End)
	l.wordIf(e.Node != 0, "node=%d", e.Node)
	l.wordIf(e.Name != "", "name=%s", quote(e.Name))
	l.wordIf(e.Session != 0, "session=%v", e.Session)
	l.wordIf(e.Number != 0, "number=%d", e.Number)
	l.wordIf(e.Slot != 0, "slot=%d", e.Slot)
	l.wordIf(e.Order != 0, "order=%d", e.Order)
	l.wordIf(e.Revision != 0, "revision=%d", e.Revision)
	l.wordIf(e.Limit != 0, "limit=%s", amount(e.Limit))
	l.wordIf(e.Timeout != 0, "timeout=%s", amount(e.Timeout))
	l.wordIf(e.Body != "", "body=%s", quote(e.Body))
	return l.String()
}

// StateText formats a state, one item per line. Each line is self-contained, so that lines can be compared
// individually.
func StateText(state *shard.State) []string {
	lines := []string{fmt.Sprintf(
		"last order %d, revision %d, session %d, term %d since %d, time %d, level %d, "+
			"quotas of %d objects and %d bytes, slot changes %d",
		state.LastOrder, state.LastRevision, state.LastSession, state.Term, state.TimeBase, state.Now, state.Level,
		state.ObjectLimit, state.ByteLimit, state.SlotChanges)}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, x := range state.Slots {
		add("slot %d is %s(%d) for %d, seen %d", x.Slot, x.State, x.Generation, x.To, x.Seen)
	}
	for _, n := range state.Nodes {
		add("node %d dropping=%v quotas of %d objects and %d bytes", n.ID, n.Dropping, n.ObjectLimit, n.ByteLimit)
	}
	for _, s := range state.Sessions {
		add("session %v node=%d home=%v timeout=%d details=%s key=%s applied=%d acked=%d "+
			"number-space=%d losses=%d slots=%v created=%d client=%s/%s/%s",
			s.ID, s.Node, s.Home, s.Timeout, quote(s.Details), quote(s.Key), s.Applied, s.Acked,
			s.SequenceSpace, s.Losses, s.Slots, s.Created,
			quote(s.Client.Address), quote(s.Client.Name), quote(s.Client.Version))
		for _, a := range s.Answers {
			var l line
			l.word("session %v answer %d %v", s.ID, a.Number, a.Status)
			l.flags(a.Flags)
			l.word("abort=%v order=%d revision=%d quota=%v", a.Abort, a.Order, a.Revision, a.Quota)
			l.wordIf(a.Body != "", "body=%s", quote(a.Body))
			l.wordIf(a.Asked != 0, "asked=%016x", a.Asked)
			l.wordIf(a.Slot != 0, "slot=%d", a.Slot)
			lines = append(lines, l.String())
		}
	}
	for i, p := range state.Pending {
		if p.Session != 0 {
			add("pending %d: the end of session %v", i, p.Session)
		} else {
			add("pending %d: semaphore %d/%s deleting=%v", i, p.Node, quote(p.Name), p.Deleting)
		}
	}
	for _, sem := range state.Semaphores {
		where := fmt.Sprintf("semaphore %d/%s", sem.Node, quote(sem.Name))
		add("%s limit=%s ephemeral=%v revision=%d data=%s", where, amount(sem.Limit), sem.Ephemeral,
			sem.Revision, quote(sem.Data))
		for _, l := range sem.Links {
			part := "waiter"
			if l.Owner {
				part = "owner"
			}
			add("%s %s %d session=%v number=%d count=%s timeout=%s deadline=%d data=%s since=%d", where, part, l.Order,
				l.Session, l.Number, amount(l.Count), amount(l.Timeout), l.Deadline, quote(l.Data), l.Since)
		}
	}
	return lines
}

// Difference compares two lists of lines as sets: lines only in got are marked +, lines only in want -. It is empty if
// the sets are equal.
func Difference(got, want []string) string {
	var b strings.Builder
	write := func(mark string, lines, others []string) {
		have := make(map[string]bool)
		for _, l := range others {
			have[l] = true
		}
		for _, l := range lines {
			if !have[l] {
				b.WriteString(mark + l + "\n")
			}
		}
	}
	write("- ", want, got)
	write("+ ", got, want)
	return b.String()
}
