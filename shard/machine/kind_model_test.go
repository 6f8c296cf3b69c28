package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// clubModel is a naive model of a shard's clubs and locks after a command. A lock is an ephemeral semaphore used by a
// single session.
type clubModel struct {
	*machinetest.ModelShard
	clubs map[string]*modelClub
	locks map[shard.SessionID]shard.OrderID
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

func (c *modelClub) at(id shard.SessionID) int {
	return slices.IndexFunc(c.members, func(x modelMember) bool { return x.session == id })
}

// show raises the revisions of the club and of a team, which ends with its last member.
func (cm *clubModel) show(c *modelClub, team string) {
	cm.Revision++
	c.revision = cm.Revision
	for i := range c.teams {
		if c.teams[i].name == team {
			c.teams[i].revision = cm.Revision
		}
	}
	c.teams = slices.DeleteFunc(c.teams, func(t modelTeam) bool {
		return !slices.ContainsFunc(c.members, func(x modelMember) bool { return x.team == t.name })
	})
}

func (cm *clubModel) join(name string, id shard.SessionID, number uint64, team, mark string) {
	c, more := cm.clubs[name], shard.LinkBytes+len(team)+len(mark)
	if c == nil {
		c, more = &modelClub{name: name}, more+shard.ObjectBytes+len(name)
	}
	if c.at(id) >= 0 || !cm.fits(more) {
		return
	}
	cm.clubs[name] = c
	cm.Order = machinetest.NextOrder(cm.Order)
	c.joins++
	c.members = append(c.members, modelMember{id, cm.Order, number, team, mark})
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

// fits is the quota.
func (cm *clubModel) fits(more int) bool {
	return more <= 0 || cm.Bytes()+cm.Size()+uint64(more) <= cm.Limit
}

// End releases a session's holdings, by order id.
func (cm *clubModel) End(id shard.SessionID) {
	parts := map[shard.OrderID]func(){}
	if order := cm.locks[id]; order != 0 {
		parts[order] = func() { cm.unlock(id) }
	}
	for _, c := range cm.clubs {
		if i := c.at(id); i >= 0 {
			parts[c.members[i].order] = func() { cm.leave(c, id) }
		}
	}
	for _, order := range slices.Sorted(maps.Keys(parts)) {
		parts[order]()
	}
	delete(cm.Sessions, id)
}

func (cm *clubModel) lock(id shard.SessionID) {
	if cm.locks[id] == 0 && cm.fits(lockBytes(id)) {
		cm.Order = machinetest.NextOrder(cm.Order)
		cm.Revision++
		cm.locks[id] = cm.Order
	}
}

func (cm *clubModel) unlock(id shard.SessionID) {
	if cm.locks[id] != 0 {
		cm.Revision++
		delete(cm.locks, id)
	}
}

// Drop removes the node with all its objects: each is reported as deleted.
func (cm *clubModel) Drop() {
	cm.Revision += shard.Revision(len(cm.clubs) + len(cm.locks))
	clear(cm.clubs)
	clear(cm.locks)
	clear(cm.Sessions)
	cm.Limit = shard.DefaultNodeBytes
}

// Due and Alarms are for kinds with alarms.
func (cm *clubModel) Due()             {}
func (cm *clubModel) Alarms() []uint64 { return nil }

// Objects are the clubs in State form.
func (cm *clubModel) Objects() (list []shard.ObjectState) {
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

// Size is the size of clubs and locks in quotas.
func (cm *clubModel) Size() (n uint64) {
	for id := range cm.locks {
		n += uint64(lockBytes(id))
	}
	for name, c := range cm.clubs {
		n += uint64(shard.ObjectBytes + len(name) + len(c.note))
		for _, x := range c.members {
			n += uint64(shard.LinkBytes + len(x.team) + len(x.mark))
		}
	}
	return n
}

// View compares the number of objects of each kind.
func (cm *clubModel) View(m *Machine) error {
	if n := m.Count().OfKind; n[kindClub] != len(cm.clubs) || n[shard.KindSemaphore] != len(cm.locks) {
		return fmt.Errorf("counted %v, there are %d clubs and %d locks", n, len(cm.clubs), len(cm.locks))
	}
	return nil
}

func lockOf(id shard.SessionID) string { return fmt.Sprintf("lock/%v", id) }

func lockBytes(id shard.SessionID) int { return shard.ObjectBytes + len(lockOf(id)) + shard.LinkBytes }

// clubRun runs the same random commands on a machine and the model.
type clubRun struct {
	*machinetest.ObjectRun[*Machine]
	model *clubModel
}

// mutateClub sends a session's command on a club or its lock.
func (r *clubRun) mutateClub(id shard.SessionID) error {
	s, name := r.model.Sessions[id], fmt.Sprintf("club-%d", r.IntN(3))
	s.Number++
	c := shard.Command{Node: 1, Session: id, Number: s.Number, Acked: s.Number - 1, Name: []byte(name)}
	club := r.model.clubs[name]
	switch r.IntN(17) {
	case 0, 1:
		c.Kind, c.Name = shard.CmdAcquire, []byte(lockOf(id))
		c.Count, c.Flags = shard.Exclusive, shard.FlagEphemeral
		r.model.lock(id)
	case 2:
		c.Kind, c.Name = shard.CmdRelease, []byte(lockOf(id))
		r.model.unlock(id)
	case 3:
		c.Kind = cmdDisband
		if club != nil {
			r.model.Revision++
			delete(r.model.clubs, name)
		}
	case 4, 5, 6:
		c.Kind = cmdLeave
		if club != nil {
			r.model.leave(club, id)
		}
	case 7, 8:
		c.Kind, c.Data = cmdNote, []byte(strings.Repeat("n", r.IntN(5)))
		if club != nil && r.model.fits(len(c.Data)-len(club.note)) {
			club.note = string(c.Data)
			r.model.show(club, "")
		}
	case 9, 10, 11:
		c.Kind, c.Data = cmdMark, []byte(strings.Repeat("m", r.IntN(9)))
		if club == nil || club.at(id) < 0 {
			break
		}
		if x := &club.members[club.at(id)]; r.model.fits(len(c.Data) - len(x.mark)) {
			x.mark = string(c.Data)
			r.model.show(club, x.team)
		}
	default:
		c.Kind, c.Key, c.Data = cmdJoin, []byte([]string{"red", "blue"}[r.IntN(2)]), []byte("new")
		r.model.join(name, id, c.Number, string(c.Key), string(c.Data))
	}
	r.All(c)
	return nil
}

// runClubs runs commands on a machine with clubs and returns the first failure.
func runClubs(seed uint64, steps int) error {
	r := &clubRun{model: &clubModel{
		ModelShard: machinetest.NewModelShard(), clubs: map[string]*modelClub{},
		locks: map[shard.SessionID]shard.OrderID{},
	}}
	empty := func() *Machine { return New(TestKinds, Options{History: 64, Bounds: Bounds{Work: 3}}) }
	r.ObjectRun = machinetest.NewObjectRun(empty, seed, 4, r.model.ModelShard, r.model, nil)
	r.Mutate = r.mutateClub
	for i := range 3 {
		for _, view := range []string{"", "red", "blue"} {
			r.Followers = append(r.Followers, &machinetest.RowFollower{Ref: clubRef(fmt.Sprintf("club-%d", i), view)})
		}
	}
	return r.Play(cmdJoin, steps)
}

func TestClubsAreAsTheirModelSays(t *testing.T) {
	clubBed(t, 0)
	for seed := range uint64(20) {
		if err := runClubs(seed, 400); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// Bugs that a kind may have, to be detected by the model.
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
		{"the-body-of-a-link-is-lost-at-a-restore", 1, func(cl *clubs) Kind { return losesBodies{cl} }, "should be"},
		{"the-size-of-a-link-is-not-counted", 2, func(cl *clubs) Kind { return countsNoLinks{cl} }, "bytes count"},
		{"the-size-of-an-object-is-not-counted", 3, func(cl *clubs) Kind { return countsNoNotes{cl} }, ""},
		{"the-end-of-a-session-passes-over-a-kind", 4, func(cl *clubs) Kind { return endsInSilence{cl} }, "objects ("},
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
