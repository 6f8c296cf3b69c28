package machine_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// drawEffect draws an effect as a line. Fields unexpected for the kind are drawn too, after three question marks.
func (st *goldenStage) drawEffect(c *shard.Command, e shard.Effect) string {
	var line string
	rest := e
	rest.Kind, rest.Op = 0, 0
	switch e.Kind {
	case shard.EffectResult:
		line = st.drawResult(c, &rest)
	case shard.EffectGranted, shard.EffectAborted, shard.EffectTimedOut, shard.EffectLost, shard.EffectInbox:
		line = fmt.Sprintf("%v %s#%d %s order=%d", e.Kind, st.name(e.Session), e.Number, drawName(e.Node, e.Name),
			e.Order)
		if e.Object == shard.KindProcess {
			line, rest.Object, rest.Body = line+drawText("why", e.Body), 0, ""
		}
		if e.Kind == shard.EffectAborted {
			line += " " + e.Abort.String()
		}
		if e.Kind == shard.EffectLost && e.Limit != 0 {
			line += fmt.Sprintf(" losses=%d", e.Limit)
			rest.Limit = 0
		}
		rest.Node, rest.Name, rest.Session, rest.Number, rest.Order, rest.Abort = 0, "", 0, 0, 0, 0
	case shard.EffectChanged:
		line = fmt.Sprintf("changed %s%s rev=%d", drawName(e.Node, e.Name), drawChange(e.Flags), e.Revision)
		rest.Node, rest.Name, rest.Flags, rest.Revision = 0, "", 0, 0
		if e.Object == shard.KindSemaphore || e.Object == shard.KindProcess {
			rest.Object = 0
		}
	case shard.EffectSessionEnded:
		line = fmt.Sprintf("session-ended %s %v%s", st.name(e.Session), e.End, drawNode(e.Node))
		rest.Session, rest.End, rest.Node = 0, 0, 0
	case shard.EffectSessionSeen:
		line = fmt.Sprintf("session-seen %s%s", st.name(e.Session), drawNode(e.Node))
		rest.Session, rest.Node = 0, 0
	case shard.EffectSlotLeft, shard.EffectSlotArrived, shard.EffectSlotsChanged:
		line = fmt.Sprintf("%v %d changes=%d", e.Kind, e.Slot, e.Number)
		rest.Slot, rest.Number = 0, 0
	case shard.EffectCheckHoldings:
		line = fmt.Sprintf("%v %s losses=%d%s", e.Kind, st.name(e.Session), e.Limit, drawNode(e.Node))
		rest.Session, rest.Limit, rest.Node = 0, 0, 0
	case shard.EffectNodeSeen:
		line = fmt.Sprintf("node-seen %d", e.Node)
		rest.Node = 0
	}
	if rest != (shard.Effect{}) {
		line += fmt.Sprintf(" ??? %+v", rest)
	}
	return line
}

// drawResult draws the answer to a command and clears the drawn fields.
func (st *goldenStage) drawResult(c *shard.Command, e *shard.Effect) string {
	answer := shard.AnswerState{
		Status: e.Status, Flags: e.Flags &^ shard.FlagMore, Abort: e.Abort, Order: e.Order, Revision: e.Revision,
		Quota: e.Quota, Body: e.Body,
	}
	line := drawAnswer(&answer)
	if line == "ok" {
		switch c.Kind {
		case shard.CmdAcquire:
			line = "not acquired"
		case shard.CmdRelease:
			line = "nothing to release"
		}
	}
	if c.Kind == shard.CmdSessionCreate && e.Session != 0 {
		line = st.name(e.Session) + " = " + e.Session.String()
		e.Session = 0
	}
	if c.Kind == shard.CmdSessionNumbers && e.Number != 0 {
		line, e.Number = fmt.Sprintf("numbers above %d", e.Number), 0
	}
	if e.Flags&shard.FlagMore != 0 {
		line += ", and there is more"
	}
	if c.Kind == shard.CmdAcquire && e.Status == protocol.StatusSuccess {
		e.Limit = 0
	}
	e.Status, e.Flags, e.Abort, e.Order, e.Revision, e.Quota, e.Body = 0, 0, 0, 0, 0, 0, ""
	return line
}

// drawAnswer draws an answer: a status other than SUCCESS, or the flags' meaning.
func drawAnswer(a *shard.AnswerState) string {
	var words []string
	odd := a.Flags
	for _, f := range []struct {
		flag shard.EffectFlags
		word string
	}{
		{shard.FlagAcquired, "acquired"}, {shard.FlagQueued, "queued"}, {shard.FlagReleased, "released"},
		{shard.FlagData | shard.FlagLimit, "exchanged"}, {shard.FlagCreated, "created"},
	} {
		if a.Flags&f.flag == f.flag {
			words, odd = append(words, f.word), odd&^f.flag
		}
	}
	if a.Status != protocol.StatusSuccess {
		words = append(words, a.Status.String())
	} else if len(words) == 0 {
		words = append(words, "ok")
	}
	if a.Status == protocol.StatusAborted || a.Abort != 0 {
		words = append(words, a.Abort.String())
	}
	if a.Quota != 0 {
		words = append(words, a.Quota.String())
	}
	if a.Order != 0 {
		words = append(words, fmt.Sprintf("order=%d", a.Order))
	}
	if a.Revision != 0 {
		words = append(words, fmt.Sprintf("rev=%d", a.Revision))
	}
	if a.Body != "" {
		words = append(words, "body="+drawBody(a.Body))
	}
	if odd != 0 {
		words = append(words, fmt.Sprintf("??? flags=%b", odd))
	}
	return strings.Join(words, " ")
}

// drawBody draws an answer's body; a long body is shortened to its start and length.
func drawBody(body string) string {
	const shown = 16
	if len(body) <= shown {
		return strconv.Quote(body)
	}
	return fmt.Sprintf("%q of %d bytes", body[:shown], len(body))
}

func drawChange(f shard.EffectFlags) string {
	line := ""
	for _, w := range []struct {
		flag shard.EffectFlags
		word string
	}{
		{shard.FlagData, "data"}, {shard.FlagLimit, "limit"}, {shard.FlagOwners, "owners"},
		{shard.FlagCreated, "created"}, {shard.FlagDeleted, "deleted"},
	} {
		if f&w.flag != 0 {
			line, f = line+" "+w.word, f&^w.flag
		}
	}
	if f != 0 {
		line += fmt.Sprintf(" ??? flags=%b", f)
	}
	return line
}

// drawName draws a name, with its node unless the node is 1.
func drawName(n shard.NodeID, name string) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%d/%s", n, name)
}

// drawNode draws a session's node unless the node is 1.
func drawNode(n shard.NodeID) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" node=%d", n)
}

// drawBrief counts effects by kind instead of showing each, in order of first appearance.
func (st *goldenStage) drawBrief(commands []shard.Command, effects []shard.Effect) []string {
	counts := make(map[string]int)
	var kinds []string
	for _, e := range effects {
		kind := e.Kind.String()
		switch e.Kind {
		case shard.EffectResult:
			kind = st.drawBriefResult(&commands[e.Op], e)
		case shard.EffectChanged:
			kind += " " + drawName(e.Node, e.Name) + drawChange(e.Flags)
		case shard.EffectSessionEnded:
			kind += " " + e.End.String()
		case shard.EffectGranted, shard.EffectAborted, shard.EffectTimedOut, shard.EffectLost, shard.EffectInbox:
			kind += " " + drawName(e.Node, e.Name)
		}
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		if counts[kind] > 1 {
			kinds[i] = fmt.Sprintf("%d times %s", counts[kind], kind)
		}
	}
	return kinds
}

func (st *goldenStage) drawBriefResult(c *shard.Command, e shard.Effect) string {
	if e.Session != 0 {
		return "a session"
	}
	e.Order, e.Revision = 0, 0
	line, _, _ := strings.Cut(st.drawResult(c, &e), " timeout=")
	return line
}
