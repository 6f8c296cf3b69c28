package machine

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// clubModel says in the plainest way what clubs and locks of a shard should be after a command. A lock is an ephemeral
// semaphore that one session alone uses.
type clubModel struct {
	order    shard.OrderID
	revision shard.Revision
	clubs    map[string]*modelClub
	sessions map[shard.SessionID]*modelSession
}

type modelClub struct {
	name     string
	note     string
	joins    int
	revision shard.Revision
	teams    []modelTeam // by name
	members  []modelMember
}

type modelTeam struct {
	name     string
	number   int
	revision shard.Revision
}

type modelMember struct {
	session    shard.SessionID
	order      shard.OrderID
	number     uint64
	team, mark string
}

type modelSession struct {
	number uint64
	lock   shard.OrderID // what it has of its lock
}

func (c *modelClub) at(id shard.SessionID) int {
	return slices.IndexFunc(c.members, func(x modelMember) bool { return x.session == id })
}

// show raises the revision of the club and of a team, which goes with its last member.
func (cm *clubModel) show(c *modelClub, team string) {
	cm.revision++
	c.revision = cm.revision
	for i := range c.teams {
		if c.teams[i].name == team {
			c.teams[i].revision = cm.revision
		}
	}
	c.teams = slices.DeleteFunc(c.teams, func(t modelTeam) bool {
		return !slices.ContainsFunc(c.members, func(x modelMember) bool { return x.team == t.name })
	})
}

func (cm *clubModel) join(name string, id shard.SessionID, number uint64, team, mark string) {
	c := cm.clubs[name]
	if c == nil {
		c = &modelClub{name: name}
		cm.clubs[name] = c
	}
	if c.at(id) >= 0 {
		return
	}
	cm.order = modelOrder(cm.order)
	c.joins++
	c.members = append(c.members, modelMember{id, cm.order, number, team, mark})
	if !slices.ContainsFunc(c.teams, func(t modelTeam) bool { return t.name == team }) {
		c.teams = append(c.teams, modelTeam{name: team, number: c.joins})
		slices.SortFunc(c.teams, func(a, b modelTeam) int { return cmp.Compare(a.name, b.name) })
	}
	cm.show(c, team)
}

func (cm *clubModel) leave(c *modelClub, id shard.SessionID) {
	if i := c.at(id); i >= 0 {
		team := c.members[i].team
		c.members = slices.Delete(c.members, i, i+1)
		cm.show(c, team)
	}
}

// end releases what a session has, in order of order id.
func (cm *clubModel) end(id shard.SessionID) {
	s := cm.sessions[id]
	parts := map[shard.OrderID]func(){}
	if s.lock != 0 {
		parts[s.lock] = func() { cm.revision++ }
	}
	for _, c := range cm.clubs {
		if i := c.at(id); i >= 0 {
			parts[c.members[i].order] = func() { cm.leave(c, id) }
		}
	}
	for _, order := range slices.Sorted(maps.Keys(parts)) {
		parts[order]()
	}
	delete(cm.sessions, id)
}

// drop removes the node with all that it has: each object is reported as deleted.
func (cm *clubModel) drop() {
	cm.revision += shard.Revision(len(cm.clubs))
	for _, s := range cm.sessions {
		if s.lock != 0 {
			cm.revision++
		}
	}
	clear(cm.clubs)
	clear(cm.sessions)
}

func (cm *clubModel) objects() (list []shard.ObjectState) {
	for _, name := range slices.Sorted(maps.Keys(cm.clubs)) {
		c := cm.clubs[name]
		text := fmt.Sprintf("joined %d times, note %q, met 0 times, then at 0, teams", c.joins, c.note)
		for _, t := range c.teams {
			text += fmt.Sprintf(" %s (%d, revision %d)", t.name, t.number, t.revision)
		}
		state := shard.ObjectState{Node: 1, Name: name, Kind: kindClub, Revision: c.revision, Body: text}
		for _, x := range c.members {
			state.Links = append(state.Links, shard.LinkState{
				Session: x.session, Order: x.order, Number: x.number, Owner: true, Body: x.team + " " + x.mark,
			})
		}
		list = append(list, state)
	}
	return list
}

// bytes is what all of it counts for in quotas.
func (cm *clubModel) bytes() (n uint64) {
	for id, s := range cm.sessions {
		n += shard.SessionBytes
		if s.number > 0 {
			n += shard.AnswerBytes
		}
		if s.lock != 0 {
			n += uint64(shard.ObjectBytes + len(lockOf(id)) + shard.LinkBytes)
		}
	}
	for name, c := range cm.clubs {
		n += uint64(shard.ObjectBytes + len(name) + len(c.note))
		for _, x := range c.members {
			n += uint64(shard.LinkBytes + len(x.team) + len(x.mark))
		}
	}
	return n
}

func lockOf(id shard.SessionID) string { return fmt.Sprintf("lock/%v", id) }

// rowFollower keeps a view of a club by deltas, as a watcher does.
type rowFollower struct {
	ref      shard.Ref
	exists   bool
	revision shard.Revision
	head     string
	rows     map[uint64]string
}

// pages reads a view in small pages.
func (f *rowFollower) pages(m *Machine) (exists bool) {
	f.rows = map[uint64]string{}
	var d shard.Description
	o := shard.DescribeOptions{Rows: true, Limit: 2}
	for first := true; first || d.More; first = false {
		if !m.Describe(f.ref, o, &d) {
			return false
		}
		f.head, f.revision = d.Data, d.Revision
		for _, r := range d.Rows {
			f.rows[r.ID] = string(r.Body)
			o.After = shard.OrderID(r.ID)
		}
	}
	return true
}

func (f *rowFollower) catchUp(m *Machine) error {
	var d shard.Delta
	switch kind := m.Changes(f.ref, f.revision, &d); kind {
	case shard.DeltaNone:
	case shard.DeltaAbsent:
		f.exists, f.revision, f.head, f.rows = false, d.To, "", nil
	case shard.DeltaSnapshot:
		f.exists = f.pages(m)
	case shard.DeltaChanges:
		f.revision = d.To
		if d.DataChanged {
			f.head = d.Data
		}
		for _, row := range d.Gone {
			delete(f.rows, uint64(row))
		}
		for _, r := range d.Rows {
			f.rows[r.ID] = string(r.Body)
		}
	default:
		return fmt.Errorf("%+v since %d: kind %d", f.ref, f.revision, kind)
	}
	now := rowFollower{ref: f.ref}
	if now.exists = now.pages(m); now.exists != f.exists || now.head != f.head ||
		now.exists && (now.revision != f.revision || !maps.Equal(now.rows, f.rows)) {
		return fmt.Errorf("%+v is %+v and was followed to %+v", f.ref, now, *f)
	}
	return nil
}

// clubRun drives a machine and the model with the same random commands.
type clubRun struct {
	*bed
	rng       *rand.Rand
	model     clubModel
	followers []*rowFollower
}

// all carries a command out to its end, whatever stays pending meanwhile.
func (r *clubRun) all(c shard.Command) *shard.Effect {
	for {
		r.do(c)
		answer := *r.result()
		for r.m.Pending() > 0 {
			r.do(shard.Command{Kind: shard.CmdContinue})
		}
		if answer.Flags&shard.FlagMore == 0 {
			return &answer
		}
	}
}

func (r *clubRun) step() {
	ids := slices.Sorted(maps.Keys(r.model.sessions))
	if len(ids) < 4 || r.rng.IntN(12) == 0 {
		id := r.all(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(r.rng.IntN(shard.Slots)),
			Node: 1}).Session
		r.model.sessions[id] = &modelSession{}
		return
	}
	id := ids[r.rng.IntN(len(ids))]
	s := r.model.sessions[id]
	name := fmt.Sprintf("club-%d", r.rng.IntN(3))
	c := shard.Command{Node: 1, Session: id, Number: s.number + 1, Acked: s.number, Name: []byte(name)}
	club := r.model.clubs[name]
	switch r.rng.IntN(20) {
	case 0:
		r.model.end(id)
		r.all(shard.Command{Kind: shard.CmdSessionEnd, Session: id})
		return
	case 1:
		other := ids[r.rng.IntN(len(ids))]
		r.model.end(id)
		if other != id {
			r.model.end(other)
		}
		r.all(shard.Command{Kind: shard.CmdSessionsExpire, Sessions: []shard.SessionID{id, other}})
		return
	case 2:
		if r.rng.IntN(10) == 0 {
			r.model.drop()
			r.all(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 3})
		}
		return
	case 3, 4:
		c.Kind, c.Name = shard.CmdAcquire, []byte(lockOf(id))
		c.Count, c.Flags = shard.Exclusive, shard.FlagEphemeral
		if s.lock == 0 {
			r.model.order = modelOrder(r.model.order)
			r.model.revision++
			s.lock = r.model.order
		}
	case 5:
		c.Kind, c.Name = shard.CmdRelease, []byte(lockOf(id))
		if s.lock != 0 {
			r.model.revision++
			s.lock = 0
		}
	case 6:
		c.Kind = cmdDisband
		if club != nil {
			r.model.revision++
			delete(r.model.clubs, name)
		}
	case 7, 8, 9:
		c.Kind = cmdLeave
		if club != nil {
			r.model.leave(club, id)
		}
	case 10, 11:
		c.Kind, c.Data = cmdNote, []byte(strings.Repeat("n", r.rng.IntN(5)))
		if club != nil {
			club.note = string(c.Data)
			r.model.show(club, "")
		}
	case 12, 13, 14:
		c.Kind, c.Data = cmdMark, []byte(strings.Repeat("m", r.rng.IntN(9)))
		if club != nil && club.at(id) >= 0 {
			x := &club.members[club.at(id)]
			x.mark = string(c.Data)
			r.model.show(club, x.team)
		}
	default:
		c.Kind, c.Key, c.Data = cmdJoin, []byte([]string{"red", "blue"}[r.rng.IntN(2)]), []byte("new")
		r.model.join(name, id, c.Number, string(c.Key), string(c.Data))
	}
	s.number++
	r.all(c)
}

// check compares the machine with the model.
func (r *clubRun) check(m *Machine) error {
	state := m.State()
	locks := 0
	for _, s := range r.model.sessions {
		if s.lock != 0 {
			locks++
		}
	}
	switch want := r.model.objects(); {
	case !reflect.DeepEqual(state.Objects, want):
		return fmt.Errorf("clubs: %+v\nnot: %+v", state.Objects, want)
	case state.LastOrder != r.model.order || state.LastRevision != r.model.revision:
		return fmt.Errorf("order id %d, revision %d, not %d, %d", state.LastOrder, state.LastRevision, r.model.order,
			r.model.revision)
	case len(state.Sessions) != len(r.model.sessions) || len(state.Semaphores) != locks:
		return fmt.Errorf("%d sessions and %d locks, not %d and %d", len(state.Sessions), len(state.Semaphores),
			len(r.model.sessions), locks)
	case m.Usage(0).Bytes != r.model.bytes():
		return fmt.Errorf("%d bytes count, not %d", m.Usage(0).Bytes, r.model.bytes())
	case m.Count().OfKind[kindClub] != len(want) || m.Count().OfKind[shard.KindSemaphore] != locks:
		return fmt.Errorf("counted %+v, there are %d clubs and %d locks", m.Count(), len(want), locks)
	}
	return nil
}

// runClubs drives a machine with clubs and says what first went wrong.
func runClubs(seed uint64, steps int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	r := &clubRun{
		bed: newestBed(0), rng: rand.New(rand.NewPCG(seed, 4)),
		model: clubModel{clubs: map[string]*modelClub{}, sessions: map[shard.SessionID]*modelSession{}},
	}
	r.m = New(TestKinds, Options{History: 64, Bounds: Bounds{Work: 3}})
	r.at = 0
	r.do(shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)})
	r.at = level.Newest
	for i := range 3 {
		for _, view := range []string{"", "red", "blue"} {
			r.followers = append(r.followers, &rowFollower{ref: clubRef(fmt.Sprintf("club-%d", i), view)})
		}
	}
	for i := range steps {
		r.step()
		if err := r.check(r.m); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for _, f := range r.followers {
			if r.rng.IntN(3) == 0 {
				if err := f.catchUp(r.m); err != nil {
					return fmt.Errorf("step %d: %w", i, err)
				}
			}
		}
		if r.rng.IntN(40) == 0 {
			if err := r.restart(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
	}
	return nil
}

// restart goes on with a replica that was restored, which has the digest of the other one.
func (r *clubRun) restart() error {
	sn, err := r.m.PrepareSnapshot()
	if err != nil {
		return err
	}
	defer sn.Discard()
	var file bytes.Buffer
	if err := sn.Save(&file, nil); err != nil {
		return err
	}
	m := New(TestKinds, Options{History: 64, Bounds: r.m.core.bounds})
	if err := m.Restore(&file); err != nil {
		return err
	}
	if m.Digest() != r.m.Digest() {
		return fmt.Errorf("the digest of the restored replica is another")
	}
	r.m = m
	return r.check(m)
}

func TestClubsAreAsTheirModelSays(t *testing.T) {
	clubBed(t, 0)
	for seed := range uint64(20) {
		if err := runClubs(seed, 400); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// The mistakes below are those that a kind may make, and that the model must notice.
type (
	losesBodies   struct{ *clubs }
	countsNoLinks struct{ *clubs }
	countsNoNotes struct{ *clubs }
	endsInSilence struct{ *clubs }
	forgetsRows   struct{ *clubs }
)

func (lb losesBodies) LoadHolding(src []byte) (arena.Handle, bool) {
	body, ok := lb.clubs.LoadHolding(src)
	lb.members.At(body).mark = ""
	return body, ok
}

func (cnl countsNoLinks) HoldingSize(arena.Handle) int { return 0 }

func (cnn countsNoNotes) StateSize(arena.Handle) int { return 0 }

func (eis endsInSilence) ReleaseHolding(m *Core, h arena.Handle) { m.Holdings.Remove(h) }

func (fr forgetsRows) NextRow(m *Core, object arena.Handle, v View, after uint64) (uint64, bool) {
	return fr.clubs.NextRow(m, object, v, after+shard.MaxShard+1)
}

func (fr forgetsRows) Describe(m *Core, object arena.Handle, v View, o Described, d *shard.Description) {
	DescribeRows(fr, m, object, v, o, d)
}

func TestMistakesOfKindsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	clubBed(t, 0)
	row := TestKinds.rows[kindClub]
	defer func() { TestKinds.rows[kindClub] = row }()
	for _, c := range []struct {
		name string
		seed uint64
		kind func(*clubs) Kind
		says string
	}{
		{"the-body-of-a-link-is-lost-at-a-restore", 1, func(cl *clubs) Kind { return losesBodies{cl} }, "should have"},
		{"the-size-of-a-link-is-not-counted", 2, func(cl *clubs) Kind { return countsNoLinks{cl} }, "bytes count"},
		{"the-size-of-an-object-is-not-counted", 3, func(cl *clubs) Kind { return countsNoNotes{cl} }, ""},
		{"the-end-of-a-session-passes-over-a-kind", 4, func(cl *clubs) Kind { return endsInSilence{cl} }, "clubs:"},
		{"a-page-leaves-out-a-row", 6, func(cl *clubs) Kind { return forgetsRows{cl} }, "followed to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			TestKinds.rows[kindClub].New = row.New
			if err := runClubs(c.seed, 400); err != nil {
				t.Fatal("without the mistake:", err)
			}
			TestKinds.rows[kindClub].New = func() Kind { return c.kind(&clubs{}) }
			err := runClubs(c.seed, 400)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("noticed as %v", err)
			}
			t.Log(err)
		})
	}
}
