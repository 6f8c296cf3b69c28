package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// kindShelf is an object kind used only in these tests: a shelf has a head, and rows on boards. It is watched as a
// whole, by its head, or by board; boards are created and deleted.
const kindShelf shard.ObjectKind = 200

// headView is the view with the head and without rows. Every other view is a board with that name, without a head.
const headView = "head"

// model is a machine with shelves only. All fields are guarded by mu.
type model struct {
	mu      sync.RWMutex
	last    shard.Revision
	shelves map[string]*shelf
	log     []shelfChange             // the newest last
	reach   int                       // number of kept changes
	from    shard.Revision            // start of the kept changes
	lost    map[string]shard.Revision // latest dropped change, by shelf and view
	pages   int                       // rows per page; 0: the maximum

	reads, questions int
}

// shelf is exported to JSON with all its content: the machine's snapshot.
type shelf struct {
	Base   shard.Revision
	Head   string
	Rows   map[uint64]shelfRow
	Views  map[string]*shelfView
	HeadAt shard.Revision
}

type shelfRow struct{ Board, Body string }

// shelfView is a view's creation, and its last change.
type shelfView struct{ Base, At shard.Revision }

// shelfChange is a row change, in the views that had the row before or have it now.
type shelfChange struct {
	revision shard.Revision
	name     string
	id       uint64
	views    []string
}

// shelfOp is a command.
type shelfOp struct {
	Op          string // create, remove, head, put, take, board, unboard
	Name        string
	ID          uint64
	Board, Body string
}

func newShelves(reach int) *model {
	return &model{shelves: make(map[string]*shelf), lost: make(map[string]shard.Revision), reach: reach}
}

// apply executes a batch's commands, and returns their effects.
func (m *model) apply(ops []shelfOp) (effects []shard.Effect) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range ops {
		if e, changed := m.execute(&ops[i]); changed {
			effects = append(effects, e)
		}
	}
	return effects
}

func (m *model) execute(o *shelfOp) (e shard.Effect, changed bool) {
	at := m.last + 1
	e = shard.Effect{Kind: shard.EffectChanged, Node: 1, Name: o.Name, Revision: at}
	s := m.shelves[o.Name]
	switch {
	case s == nil && o.Op == "create":
		m.shelves[o.Name] = &shelf{Base: at, HeadAt: at, Rows: make(map[uint64]shelfRow),
			Views: map[string]*shelfView{"": {at, at}, headView: {at, at}}}
		e.Flags = shard.FlagCreated
	case s == nil:
		return e, false
	default:
		if e.Flags, changed = s.change(o, at, m); !changed {
			return e, false
		}
		if e.Flags == shard.FlagDeleted {
			delete(m.shelves, o.Name)
		}
	}
	m.last = at
	return e, true
}

func (s *shelf) change(o *shelfOp, at shard.Revision, m *model) (shard.EffectFlags, bool) {
	touch := func(views ...string) {
		for _, v := range views {
			if s.Views[v] != nil {
				s.Views[v].At = at
			}
		}
	}
	row, there := s.Rows[o.ID]
	board := s.Views[o.Board] != nil && o.Board != "" && o.Board != headView
	switch o.Op {
	case "remove":
		return shard.FlagDeleted, true
	case "head":
		s.Head, s.HeadAt = o.Body, at
		touch("", headView)
		return shard.FlagData, true
	case "board":
		if s.Views[o.Board] != nil {
			return 0, false
		}
		s.Views[o.Board] = &shelfView{at, at}
		return shard.FlagOwners, true
	case "put":
		if !board || row == (shelfRow{o.Board, o.Body}) {
			return 0, false
		}
		s.Rows[o.ID] = shelfRow{o.Board, o.Body}
	case "take":
		if !there {
			return 0, false
		}
		delete(s.Rows, o.ID)
	case "unboard":
		if !board {
			return 0, false
		}
		for id, r := range s.Rows {
			if r.Board == o.Board {
				delete(s.Rows, id)
				m.note(shelfChange{at, o.Name, id, []string{""}})
			}
		}
		delete(s.Views, o.Board)
		touch("")
		return shard.FlagOwners, true
	default:
		return 0, false
	}
	views := []string{"", s.Rows[o.ID].Board, row.Board}
	touch(views...)
	m.note(shelfChange{at, o.Name, o.ID, views})
	return shard.FlagOwners, true
}

func (m *model) note(c shelfChange) {
	m.log = append(m.log, c)
	if len(m.log) > m.reach {
		for _, view := range m.log[0].views {
			m.lost[m.log[0].name+"/"+view] = m.log[0].revision
		}
		m.log = slices.Clone(m.log[1:])
	}
}

// view returns a shelf and its view's data, nil if missing.
func (m *model) view(r shard.Ref) (*shelf, *shelfView) {
	s := m.shelves[r.Name]
	if s == nil || r.Kind != kindShelf || s.Views[r.View] == nil {
		return nil, nil
	}
	return s, s.Views[r.View]
}

// Changes implements Machine.
func (m *model) Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.questions++
	*d = shard.Delta{Rows: reused(d.Rows), Gone: d.Gone[:0]}
	if since > m.last {
		return shard.DeltaBehind
	}
	s, v := m.view(r)
	if s == nil {
		d.To = m.last
		return shard.DeltaAbsent
	}
	d.To = v.At
	switch {
	case since >= v.At:
		return shard.DeltaNone
	case since < max(v.Base, m.from, m.lost[r.Name+"/"+r.View]):
		return shard.DeltaSnapshot
	}
	changed := make(map[uint64]bool)
	for _, c := range m.log {
		if c.name == r.Name && c.revision > since && slices.Contains(c.views, r.View) {
			changed[c.id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		if x, there := s.Rows[id]; there && (r.View == "" || r.View == x.Board) {
			d.Rows = append(d.Rows, shard.Row{ID: id, Body: []byte(x.Body)})
		} else {
			d.Gone = append(d.Gone, shard.OrderID(id))
		}
	}
	if s.HeadAt > since && (r.View == "" || r.View == headView) {
		d.DataChanged, d.Data = true, s.Head
	}
	return shard.DeltaChanges
}

// reused empties a list whose memory is reused, including the bodies.
func reused(rows []shard.Row) []shard.Row {
	for i := range rows {
		clear(rows[i].Body)
	}
	return rows[:0]
}

// Describe implements Machine.
func (m *model) Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	*d = shard.Description{Rows: reused(d.Rows)}
	s, v := m.view(r)
	if s == nil {
		return false
	}
	d.Revision = v.At
	if r.View == "" || r.View == headView {
		d.Data = s.Head
	}
	limit := shard.MaxPage
	for _, n := range []int{o.Limit, m.pages} {
		if n > 0 {
			limit = min(limit, n)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Rows)) {
		x := s.Rows[id]
		if !o.Rows || id <= uint64(o.After) || r.View != "" && r.View != x.Board {
			continue
		}
		if len(d.Rows) == limit {
			d.More = true
			break
		}
		d.Rows = append(d.Rows, shard.Row{ID: id, Body: []byte(x.Body)})
	}
	return true
}

// save and restore are a snapshot, without the change log.
func (m *model) save() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, err := json.Marshal(struct {
		Last    shard.Revision
		Shelves map[string]*shelf
	}{m.last, m.shelves})
	if err != nil {
		panic(err)
	}
	return data
}

func (m *model) restore(data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var saved struct {
		Last    shard.Revision
		Shelves map[string]*shelf
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&saved); err != nil {
		panic(err)
	}
	m.last, m.shelves, m.log, m.from = saved.Last, saved.Shelves, nil, saved.Last
}

// state returns the expected content of a watch on a view.
func (m *model) state(r shard.Ref) (state, shard.Revision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, v := m.view(r)
	if s == nil {
		return state{}, 0
	}
	x := state{exists: true}
	if r.View == "" || r.View == headView {
		x.data = s.Head
	}
	for id, row := range s.Rows {
		if r.View == "" || r.View == row.Board {
			if x.rows == nil {
				x.rows = make(map[uint64]string)
			}
			x.rows[id] = row.Body
		}
	}
	return x, v.At
}

// library is shelves with their watches.
type library struct {
	testing.TB
	*model
	hub *Hub
}

func newLibrary(t testing.TB, o Options) *library {
	m := newShelves(64)
	return &library{TB: t, model: m, hub: New(m, o)}
}

// do executes commands as one batch.
func (l *library) do(ops ...shelfOp) {
	if err := l.hub.Apply(l.apply(ops), time.Now()); err != nil {
		panic(err)
	}
}

// make makes a shelf with boards.
func (l *library) make(name string, boards ...string) {
	l.do(shelfOp{Op: "create", Name: name})
	for _, b := range boards {
		l.do(shelfOp{Op: "board", Name: name, Board: b})
	}
}

func (l *library) put(name string, id uint64, board, body string) {
	l.do(shelfOp{Op: "put", Name: name, ID: id, Board: board, Body: body})
}

func (l *library) head(name, body string) { l.do(shelfOp{Op: "head", Name: name, Body: body}) }

// fill adds many rows to a board, as one batch.
func (l *library) fill(name, board string, rows int, body string) {
	var ops []shelfOp
	for id := range rows {
		ops = append(ops, shelfOp{Op: "put", Name: name, ID: uint64(id + 1), Board: board, Body: body})
	}
	l.do(ops...)
}

// expect checks that a view equals the current state.
func (l *library) expect(c *client, v *view) {
	l.Helper()
	want, _ := l.state(v.ref())
	c.expectState(v, want)
}

func (v *view) String() string { return fmt.Sprintf("%d:%q/%q", v.kind, v.name, v.part) }

func encodeOps(ops []shelfOp) []byte {
	data, err := json.Marshal(ops)
	if err != nil {
		panic(err)
	}
	return data
}

func decodeOps(data []byte) (ops []shelfOp) {
	if err := json.Unmarshal(data, &ops); err != nil {
		panic(err)
	}
	return ops
}
