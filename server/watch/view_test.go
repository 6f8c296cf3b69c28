package watch

import (
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// state is everything visible to a watcher on a semaphore, or on another kind's view.
type state struct {
	exists    bool
	ephemeral bool
	limit     uint64
	data      string // or the head
	owners    map[uint64]owner
	rows      map[uint64]string
}

type owner struct {
	session uint64
	count   uint64
	data    string
}

// as returns the state as visible to a watch with the given wants.
func (s state) as(w wants) state {
	if w&wantsData == 0 {
		s.data = ""
	}
	if w&wantsOwners == 0 {
		s.owners = nil
	}
	return s
}

func (s state) equal(o state) bool {
	return s.exists == o.exists && s.ephemeral == o.ephemeral && s.limit == o.limit && s.data == o.data &&
		maps.Equal(s.owners, o.owners) && maps.Equal(s.rows, o.rows)
}

func (s state) String() string {
	if !s.exists {
		return "missing"
	}
	text := fmt.Sprintf("limit %d, ephemeral %v, data %.20q, %d owners:", s.limit, s.ephemeral, s.data, len(s.owners))
	for i, order := range slices.Sorted(maps.Keys(s.owners)) {
		if i == 10 {
			return text + " ..."
		}
		text += fmt.Sprintf(" %d=%v", order, s.owners[order])
	}
	for i, id := range slices.Sorted(maps.Keys(s.rows)) {
		if i == 10 {
			return text + " ..."
		}
		text += fmt.Sprintf(" row %d=%.20q", id, s.rows[id])
	}
	return text
}

// stateOf reads a semaphore's state from the machine.
func stateOf(m *machine.Machine, node shard.NodeID, name string) (state, shard.Revision) {
	s := state{}
	var d shard.Description
	options := shard.DescribeOptions{Owners: true}
	for {
		if !m.Describe(shard.Ref{Kind: shard.KindSemaphore, Node: node, Name: name}, options, &d) {
			return state{}, 0
		}
		s.exists, s.ephemeral, s.limit, s.data = true, d.Ephemeral, d.Limit, d.Data
		for _, l := range d.Links {
			if s.owners == nil {
				s.owners = make(map[uint64]owner)
			}
			s.owners[uint64(l.Order)] = owner{uint64(l.Session), l.Count, l.Data}
			options.After = l.Order
		}
		if !d.More {
			return s, d.Revision
		}
	}
}

// view is a client's view built from one watch's pushes: strictly by the protocol, without tolerance for wrong order.
type view struct {
	node  shard.NodeID
	name  string
	wants wants
	kind  shard.ObjectKind // 0 for a semaphore
	part  string

	answered bool
	begun    bool // complete
	partial  bool // in the middle of a snapshot
	revision uint64
	state    state

	snapshots, deltas, resyncs, pages int
	resynced                          bool // a snapshot must follow
	ended                             *protocol.Result
	bytes                             int
}

// ref identifies the viewed object.
func (v *view) ref() shard.Ref {
	r := shard.Ref{Kind: v.kind, Node: v.node, Name: v.name, View: v.part}
	if v.kind == 0 {
		r.Kind = shard.KindSemaphore
	}
	return r
}

func (v *view) snapshot(m *protocol.WatchSnapshot) error {
	switch {
	case !m.First && (!v.partial || m.Revision != v.revision):
		return fmt.Errorf("a further page of revision %d, the first was of %d (partial %v)", m.Revision, v.revision,
			v.partial)
	case m.First && m.Revision <= v.revision && v.revision != 0:
		return fmt.Errorf("a snapshot of revision %d, the view is of %d", m.Revision, v.revision)
	case !m.First && (m.Exists || m.Ephemeral || m.Limit != 0 || len(m.Data) > 0):
		return fmt.Errorf("a further page says what is on the first one")
	}
	if m.First {
		v.state = state{exists: m.Exists, ephemeral: m.Ephemeral, limit: m.Limit, data: string(m.Data)}
		v.revision, v.partial, v.begun = m.Revision, true, false
	}
	v.pages++
	v.resynced = false
	last := uint64(0)
	for order := range v.state.owners {
		last = max(last, order)
	}
	for o := range m.Owners.All() {
		if o.OrderID <= last {
			return fmt.Errorf("owner %d comes after %d", o.OrderID, last)
		}
		last = o.OrderID
		v.put(o)
	}
	last = 0
	for id := range v.state.rows {
		last = max(last, id)
	}
	for x := range m.Rows.All() {
		if x.ID <= last {
			return fmt.Errorf("row %d comes after %d", x.ID, last)
		}
		last = x.ID
		v.putRow(x)
	}
	if m.Last {
		v.partial, v.begun = false, true
		v.snapshots++
	}
	return v.fits()
}

func (v *view) delta(m *protocol.WatchDelta) error {
	switch {
	case !v.begun:
		return fmt.Errorf("a delta for a view that is not complete")
	case v.resynced:
		return fmt.Errorf("a delta where a snapshot was announced")
	case m.From != v.revision:
		return fmt.Errorf("a delta from %d, the view is of %d", m.From, v.revision)
	case m.To <= m.From:
		return fmt.Errorf("a delta from %d to %d", m.From, m.To)
	}
	v.deltas++
	switch m.Existence {
	case protocol.ExistenceCreated:
		v.state = state{exists: true, ephemeral: m.Ephemeral, limit: m.Limit}
	case protocol.ExistenceDeleted:
		v.state = state{}
	case protocol.ExistenceSame:
		if !v.state.exists {
			return fmt.Errorf("changes of a semaphore that does not exist")
		}
	}
	if m.DataChanged {
		v.state.data = string(m.Data)
	}
	if m.Limit != 0 {
		v.state.limit = m.Limit
	}
	for order := range m.Gone.All() {
		delete(v.state.owners, uint64(order))
		delete(v.state.rows, uint64(order))
	}
	for o := range m.Joined.All() {
		v.put(o)
	}
	for x := range m.Rows.All() {
		v.putRow(x)
	}
	v.revision = m.To
	return v.fits()
}

func (v *view) put(o protocol.Owner) {
	if v.state.owners == nil {
		v.state.owners = make(map[uint64]owner)
	}
	v.state.owners[o.OrderID] = owner{o.SessionID, o.Count, string(o.Data)}
}

func (v *view) putRow(x protocol.Row) {
	if v.state.rows == nil {
		v.state.rows = make(map[uint64]string)
	}
	v.state.rows[x.ID] = string(x.Body)
}

// fits checks that nothing unwanted arrived.
func (v *view) fits() error {
	switch {
	case v.kind == 0 && len(v.state.rows) > 0:
		return fmt.Errorf("rows of a semaphore")
	case v.kind != 0 && (len(v.state.owners) > 0 || v.state.limit != 0 || v.state.ephemeral):
		return fmt.Errorf("what a semaphore has, of another kind")
	}
	if v.wants&wantsData == 0 && v.state.data != "" {
		return fmt.Errorf("data that nobody asked for")
	}
	if v.wants&wantsOwners == 0 && len(v.state.owners) > 0 {
		return fmt.Errorf("owners that nobody asked for")
	}
	return nil
}
