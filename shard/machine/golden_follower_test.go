package machine_test

import (
	"fmt"
	"reflect"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// goldenFollower is a client with a streaming watch, and its received semaphore state and revision.
type goldenFollower struct {
	node     shard.NodeID
	name     string
	revision shard.Revision
	data     string
	limit    uint64
	owners   map[shard.OrderID]shard.LinkView
}

// follow sends a follower the changes since its last read, and checks that the follower is then up to date.
func (st *goldenStage) follow(l *goldenLine) ([]string, error) {
	node := shard.NodeID(l.number("node", 1))
	who, name := l.word("client"), l.word("semaphore")
	if err := l.end(); err != nil {
		return nil, err
	}
	f := st.followers[who]
	if f == nil {
		f = &goldenFollower{node: node, name: name}
		st.followers[who] = f
	}
	if f.node != node || f.name != name {
		return nil, fmt.Errorf("%s follows %s", who, drawName(f.node, f.name))
	}
	m := st.machine().Machine
	from := f.revision
	var d shard.Delta
	switch kind := m.Changes(semaphoreRef(node, name), from, &d); kind {
	case shard.DeltaChanges:
		f.take(&d)
		return append([]string{fmt.Sprintf("changes of rev=%d to rev=%d", from, d.To)}, st.drawDelta(&d)...), f.check(m)
	case shard.DeltaSnapshot:
		f.look(m)
		return []string{fmt.Sprintf("a snapshot of rev=%d: %d owners", f.revision, len(f.owners)) +
			drawText("data", f.data)}, nil
	case shard.DeltaAbsent:
		f.revision, f.data, f.limit, f.owners = d.To, "", 0, nil
		return st.drawNoDelta(kind, &d), nil
	default:
		return st.drawNoDelta(kind, &d), nil
	}
}

func (st *goldenStage) changes(l *goldenLine) ([]string, error) {
	node, since := shard.NodeID(l.number("node", 1)), shard.Revision(l.number("since", 0))
	name := l.word("semaphore")
	if err := l.end(); err != nil {
		return nil, err
	}
	var d shard.Delta
	if kind := st.machine().Changes(semaphoreRef(node, name), since, &d); kind != shard.DeltaChanges {
		return st.drawNoDelta(kind, &d), nil
	}
	return append([]string{fmt.Sprintf("changes up to rev=%d", d.To)}, st.drawDelta(&d)...), nil
}

func (st *goldenStage) drawDelta(d *shard.Delta) (lines []string) {
	if d.DataChanged {
		lines = append(lines, fmt.Sprintf("  data=%q", d.Data))
	}
	if d.Limit != 0 {
		lines = append(lines, fmt.Sprintf("  limit=%d", d.Limit))
	}
	for _, link := range d.Joined {
		lines = append(lines, "  +"+drawLink(st.name(link.Session), link)[len("  |"):])
	}
	for _, order := range d.Gone {
		lines = append(lines, fmt.Sprintf("  - order=%d", order))
	}
	return lines
}

func (st *goldenStage) drawNoDelta(kind shard.DeltaKind, d *shard.Delta) []string {
	switch kind {
	case shard.DeltaNone:
		return []string{fmt.Sprintf("nothing new since rev=%d", d.To)}
	case shard.DeltaSnapshot:
		return []string{fmt.Sprintf("too far back: take a snapshot of rev=%d", d.To)}
	case shard.DeltaAbsent:
		return []string{fmt.Sprintf("there is no such semaphore at rev=%d", d.To)}
	case shard.DeltaBehind:
		return []string{"this replica is behind"}
	}
	return []string{fmt.Sprintf("??? kind %d %+v", kind, d)}
}

func (f *goldenFollower) take(d *shard.Delta) {
	f.revision = d.To
	if d.DataChanged {
		f.data = d.Data
	}
	if d.Limit != 0 {
		f.limit = d.Limit
	}
	for _, order := range d.Gone {
		delete(f.owners, order)
	}
	for _, link := range d.Joined {
		f.owners[link.Order] = link
	}
}

// look describes the semaphore anew.
func (f *goldenFollower) look(m *machine.Machine) {
	var d shard.Description
	m.Describe(semaphoreRef(f.node, f.name), shard.DescribeOptions{}, &d)
	f.revision, f.data, f.limit = d.Revision, d.Data, d.Limit
	f.owners = make(map[shard.OrderID]shard.LinkView)
	for _, link := range describeAll(m, f.node, f.name, shard.DescribeOptions{Owners: true}) {
		f.owners[link.Order] = link
	}
}

// check compares the follower's state with a description.
func (f *goldenFollower) check(m *machine.Machine) error {
	now := goldenFollower{node: f.node, name: f.name}
	now.look(m)
	if !reflect.DeepEqual(*f, now) {
		return fmt.Errorf("a follower believes %+v, and it is %+v", f, now)
	}
	return nil
}
