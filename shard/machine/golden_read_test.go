package machine_test

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/semaphore"
)

const goldenMore = "there is more"

func (st *goldenStage) describe(l *goldenLine) ([]string, error) {
	o := shard.DescribeOptions{
		Owners: l.flag("owners"), Waiters: l.flag("waiters"),
		After: shard.OrderID(l.number("after", 0)), Limit: int(l.number("limit", 0)),
	}
	node := shard.NodeID(l.number("node", 1))
	name := l.word("semaphore")
	if err := l.end(); err != nil {
		return nil, err
	}
	var d shard.Description
	if !st.machine().Describe(semaphoreRef(node, name), o, &d) {
		return []string{"NOT_FOUND"}, nil
	}
	return st.drawDescription(drawName(node, name), &d), nil
}

func (st *goldenStage) drawDescription(name string, d *shard.Description) []string {
	lines := []string{drawHead(name, d.Count, d.Limit, d.Ephemeral, d.Revision) +
		fmt.Sprintf(", owners=%d waiters=%d", d.Owners, d.Waiters) + drawText("data", d.Data)}
	for _, link := range d.Links {
		lines = append(lines, drawLink(st.name(link.Session), link))
	}
	if d.More {
		lines = append(lines, goldenMore)
	}
	return lines
}

func (st *goldenStage) list(l *goldenLine) (lines []string, err error) {
	prefix, _ := l.text("prefix")
	after, _ := l.text("after")
	node, limit := shard.NodeID(l.number("node", 1)), int(l.number("limit", 0))
	if err := l.end(); err != nil {
		return nil, err
	}
	views, _, more := semaphore.List(st.machine().Machine, node, prefix, after, limit, nil)
	for _, v := range views {
		lines = append(lines, drawHead(drawName(node, v.Name), v.Count, v.Limit, v.Ephemeral, v.Revision)+
			fmt.Sprintf(", owners=%d waiters=%d", v.Owners, v.Waiters)+drawText("data", v.Data))
	}
	return closeList(lines, more), nil
}

func closeList(lines []string, more bool) []string {
	switch {
	case more:
		return append(lines, goldenMore)
	case len(lines) == 0:
		return []string{"none"}
	}
	return lines
}

func (st *goldenStage) listSessions(l *goldenLine) (lines []string, err error) {
	after := shard.SessionID(0)
	if text, ok := l.text("after"); ok {
		after = st.sessionID(l, text)
	}
	node, limit := shard.NodeID(l.number("node", 1)), int(l.number("limit", 0))
	if err := l.end(); err != nil {
		return nil, err
	}
	views, _, more := st.machine().ListSessions(node, after, limit, nil)
	for _, v := range views {
		lines = append(lines, st.drawSession(v))
	}
	return closeList(lines, more), nil
}

func (st *goldenStage) sessionOf(l *goldenLine) ([]string, error) {
	id := st.sessionID(l, l.word("session"))
	if err := l.end(); err != nil {
		return nil, err
	}
	v, known := st.machine().DescribeSession(id)
	if !known {
		return []string{"not known"}, nil
	}
	return []string{st.drawSession(v)}, nil
}

func (st *goldenStage) drawSession(v shard.SessionView) string {
	line := st.name(v.ID) + drawNode(v.Node)
	if v.Home {
		line += " timeout=" + drawMillis(v.Timeout)
	} else {
		line += " is a remote session"
	}
	line += fmt.Sprintf(" owns=%d waits=%d", v.Owns, v.Waits) + drawText("details", v.Details)
	if v.Keyed {
		line += " keyed"
	}
	return line
}

// keyOf reports whether a client with the key may take over the session.
func (st *goldenStage) keyOf(l *goldenLine) ([]string, error) {
	key, _ := l.text("key")
	id := st.sessionID(l, l.word("session"))
	if st.machine().KeyMatches(id, []byte(key)) {
		return []string{"matches"}, l.end()
	}
	return []string{"does not match"}, l.end()
}

func (st *goldenStage) holdings(l *goldenLine) (lines []string, err error) {
	after, limit := shard.OrderID(l.number("after", 0)), int(l.number("limit", 0))
	id := st.sessionID(l, l.word("session"))
	if err := l.end(); err != nil {
		return nil, err
	}
	holdings, more := st.machine().ListHoldings(id, after, limit, nil)
	for _, h := range holdings {
		lines = append(lines, drawLink(h.Name, h.LinkView))
	}
	return closeList(lines, more), nil
}

// waiters shows waits with an end.
func (st *goldenStage) waiters(l *goldenLine) (lines []string, err error) {
	state := st.machine().State()
	for i := range state.Semaphores {
		sem := &state.Semaphores[i]
		for _, w := range sem.Links {
			if w.Deadline != 0 {
				lines = append(lines, fmt.Sprintf("%s#%d %s order=%d timeout=%s until=%s", st.name(w.Session), w.Number,
					drawName(sem.Node, sem.Name), w.Order, drawMillis(w.Timeout), drawMillis(w.Deadline)))
			}
		}
	}
	slices.Sort(lines)
	return closeList(lines, false), l.end()
}

func (st *goldenStage) nodes(l *goldenLine) (lines []string, err error) {
	ids := st.machine().Nodes()
	slices.Sort(ids)
	for _, id := range ids {
		lines = append(lines, fmt.Sprintf("node %d", id))
	}
	return closeList(lines, false), l.end()
}

// slot shows the objects that would move with a slot: `slot 5`, or a session's or semaphore's slot.
func (st *goldenStage) slot(l *goldenLine) (lines []string, err error) {
	var slot shard.Slot
	if text := l.word("slot"); l.err == nil {
		if n, err := fmt.Sscanf(text, "%d", &slot); n != 1 || err != nil || slot >= shard.Slots {
			l.fail("%q is no slot", text)
		}
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	sessions, objects := st.machine().ListSlot(slot)
	for _, id := range sessions {
		lines = append(lines, "session "+st.name(id))
	}
	for _, o := range objects {
		lines = append(lines, "semaphore "+drawName(o.Node, o.Name))
	}
	return closeList(lines, false), nil
}

func (st *goldenStage) slotOf(l *goldenLine) ([]string, error) {
	node := shard.NodeID(l.number("node", 1))
	name := l.word("semaphore")
	return []string{fmt.Sprintf("slot %d", shard.SlotOf(node, []byte(name)))}, l.end()
}

// usage draws the quota usage for a node, or for the shard.
func (st *goldenStage) usage(l *goldenLine) ([]string, error) {
	n := shard.NodeID(l.number("node", 1))
	if l.flag("shard") {
		n = 0
	}
	u := st.machine().Usage(n)
	return []string{fmt.Sprintf("objects %d of %d, bytes %d of %d", u.Objects, u.ObjectLimit, u.Bytes,
		u.ByteLimit)}, l.end()
}
