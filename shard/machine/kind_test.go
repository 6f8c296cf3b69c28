package machine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// clubs are a second kind of objects, made only of what kind.go and view.go offer: a named list of members, each of a
// team and with a mark. A club has a note. It is watched as a whole, with all members as rows, and team by team. A
// team is there while it has a member.
type clubs struct {
	arena.Slab[club]
	smallThings
	members arena.Slab[member]
}

type club struct {
	note  string
	joins uint64 // how often it was joined
	meets uint64 // when they meet next: time of the shard, 0 for never
	met   uint64 // how often they did
	whole viewTrack
	teams []*team // by name
}

type team struct {
	name   string
	number uint32 // never used again within its club
	count  int
	viewTrack
}

type member struct{ team, mark string }

const (
	kindClub shard.ObjectKind = 7

	cmdJoin    shard.CommandKind = 245 // Key: the team, Data: the mark
	cmdMark    shard.CommandKind = 244 // Data: another mark
	cmdNote    shard.CommandKind = 243 // Data: another note
	cmdLeave   shard.CommandKind = 242
	cmdDisband shard.CommandKind = 241
	cmdMeet    shard.CommandKind = 240 // Timeout: in how many milliseconds they meet
)

func init() {
	addKind(kindClub, kindRow{
		newStore: func() kind { return &clubs{} },
	}, nil)
	for k, mu := range map[shard.CommandKind]mutation{
		cmdJoin:    {run: ofClubs((*clubs).join), makes: func(*shard.Command) bool { return true }},
		cmdMark:    {run: ofClubs((*clubs).mark)},
		cmdNote:    {run: ofClubs((*clubs).setNote), anonymous: true},
		cmdLeave:   {run: ofClubs((*clubs).leave)},
		cmdMeet:    {run: ofClubs((*clubs).meet), anonymous: true},
		cmdDisband: {run: ofClubs((*clubs).disband), anonymous: true},
	} {
		mu.of = kindClub
		mutations[k], shard.Commands[k] = mu, shard.CommandRow{Name: "club"}
	}
}

func ofClubs(run func(*clubs, *Core, *shard.Command, *target)) func(*Core, *shard.Command, *target) {
	return func(m *Core, c *shard.Command, t *target) {
		run(m.kinds[kindClub].(interface{ store() *clubs }).store(), m, c, t)
	}
}

// store is the kind itself, also where a test has put a mistake before it.
func (cl *clubs) store() *clubs { return cl }

func (cl *clubs) join(m *Core, c *shard.Command, t *target) {
	fresh := t.object == 0
	more := shard.LinkBytes + len(c.Key) + len(c.Data)
	switch refusal, _ := m.Holdings.Admits(t.session); {
	case refusal != protocol.StatusSuccess:
		m.Run.Answer(refusal)
		return
	case !fresh && m.Holdings.find(m.Objects.At(t.object), t.object, t.session) != 0:
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	case fresh && !m.Nodes.MayGrow(t.node, 1, shard.ObjectBytes+len(c.Name)+more), !fresh &&
		!m.Nodes.MayGrow(t.node, 0, more):
		return
	}
	if fresh {
		t.object = m.Objects.Add(kindClub, t, c.Node, c.Name, cl.Alloc())
		cl.At(m.Objects.At(t.object).body).whole = m.History.NewView()
	}
	m.Snapshots.TouchObject(t.object)
	r := cl.At(m.Objects.At(t.object).body)
	r.joins++
	bare := *c
	bare.Data = nil
	h := m.Holdings.Add(t.session, t.object, &bare, true)
	body := cl.members.Alloc()
	*cl.members.At(body) = member{team: string(c.Key), mark: string(c.Data)}
	m.Holdings.SetState(h, body)
	of := r.team(string(c.Key))
	if of == nil {
		of = &team{name: string(c.Key), number: uint32(r.joins), viewTrack: m.History.NewView()}
		r.teams = slices.Insert(r.teams, r.place(of.name), of)
	}
	of.count++
	cl.report(m, r, of, h)
	m.Holdings.AnswerAcquired(h, 0)
	if fresh {
		m.Objects.Changed(t.object, shard.FlagCreated)
	} else {
		m.Objects.Changed(t.object, shard.FlagOwners)
	}
}

// report notes that a member came, changed or goes. The heads say how many there are.
func (cl *clubs) report(m *Core, r *club, of *team, link arena.Handle) {
	row := uint64(m.Holdings.At(link).order)
	m.History.RowChanged(&r.whole, row)
	m.History.HeadChanged(&r.whole)
	m.History.RowChanged(&of.viewTrack, row)
	m.History.HeadChanged(&of.viewTrack)
}

func (cl *club) place(name string) int {
	i, _ := slices.BinarySearchFunc(cl.teams, name, func(t *team, name string) int {
		return strings.Compare(t.name, name)
	})
	return i
}

func (cl *club) team(name string) *team {
	if i := cl.place(name); i < len(cl.teams) && cl.teams[i].name == name {
		return cl.teams[i]
	}
	return nil
}

func (cl *clubs) mark(m *Core, c *shard.Command, t *target) {
	h := arena.Handle(0)
	if t.object != 0 {
		h = m.Holdings.find(m.Objects.At(t.object), t.object, t.session)
	}
	if h == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	x := cl.members.At(m.Holdings.At(h).body)
	more := len(c.Data) - len(x.mark)
	if !m.Nodes.MayGrow(t.node, 0, more) {
		return
	}
	m.Snapshots.TouchHolding(h)
	m.Nodes.Charge(t.node, more)
	x.mark = string(c.Data)
	r := cl.At(m.Objects.At(t.object).body)
	m.Snapshots.TouchObject(t.object)
	of := r.team(x.team)
	m.History.RowChanged(&r.whole, uint64(m.Holdings.At(h).order))
	m.History.RowChanged(&of.viewTrack, uint64(m.Holdings.At(h).order))
	m.Run.Answer(protocol.StatusSuccess)
	m.Objects.Changed(t.object, shard.FlagOwners)
}

func (cl *clubs) setNote(m *Core, c *shard.Command, t *target) {
	if t.object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	r := cl.At(m.Objects.At(t.object).body)
	more := len(c.Data) - len(r.note)
	if !m.Nodes.MayGrow(t.node, 0, more) {
		return
	}
	m.Snapshots.TouchObject(t.object)
	m.Nodes.Charge(t.node, more)
	r.note = string(c.Data)
	m.History.HeadChanged(&r.whole)
	m.Run.Answer(protocol.StatusSuccess).Revision = m.lastRevision + 1
	m.Objects.Changed(t.object, shard.FlagData)
}

func (cl *clubs) leave(m *Core, c *shard.Command, t *target) {
	h := arena.Handle(0)
	if t.object != 0 {
		h = m.Holdings.find(m.Objects.At(t.object), t.object, t.session)
	}
	if h == 0 {
		m.Run.Answer(protocol.StatusSuccess)
		return
	}
	m.Run.Answer(protocol.StatusSuccess).Flags = shard.FlagReleased
	cl.releaseLink(m, h)
}

func (cl *clubs) disband(m *Core, c *shard.Command, t *target) {
	if t.object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	cl.remove(m, t.object)
	m.Run.Answer(protocol.StatusSuccess)
}

func (cl *clubs) releaseLink(m *Core, h arena.Handle) {
	object := m.Holdings.At(h).object
	o := m.Objects.At(object)
	if o.deleting {
		m.Holdings.Remove(h)
		if o.linkCount == 0 {
			m.Objects.Remove(object)
		}
		return
	}
	m.Snapshots.TouchObject(object)
	r := cl.At(o.body)
	of := r.team(cl.members.At(m.Holdings.At(h).body).team)
	cl.report(m, r, of, h)
	if of.count--; of.count == 0 {
		i := r.place(of.name)
		r.teams = slices.Delete(r.teams, i, i+1)
	}
	m.Holdings.Remove(h)
	m.Objects.Changed(object, shard.FlagOwners)
}

func (cl *clubs) remove(m *Core, object arena.Handle) {
	o := m.Objects.At(object)
	for o.linkCount > 0 && m.Run.Left > 0 {
		h := m.Holdings.byObject.First(o.links)
		m.Holdings.Emit(shard.EffectLost, h)
		m.Holdings.Remove(h)
	}
	if !o.deleting {
		m.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	if o.linkCount == 0 {
		m.Objects.Remove(object)
		return
	}
	o.deleting = true
	m.Pending.Defer(object)
}

func (cl *clubs) resume(*Core, arena.Handle) {}

func (cl *clubs) meet(m *Core, c *shard.Command, t *target) {
	if t.object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	m.Snapshots.TouchObject(t.object)
	r := cl.At(m.Objects.At(t.object).body)
	r.meets = m.Clock.After(c.Timeout)
	m.Objects.SetAlarm(t.object, r.meets)
	m.History.HeadChanged(&r.whole)
	m.Run.Answer(protocol.StatusSuccess)
	m.Objects.Changed(t.object, shard.FlagData)
}

func (cl *clubs) due(m *Core, object arena.Handle) {
	m.Snapshots.TouchObject(object)
	r := cl.At(m.Objects.At(object).body)
	r.meets, r.met = 0, r.met+1
	m.History.HeadChanged(&r.whole)
	m.Objects.Changed(object, shard.FlagData)
}

func (cl *clubs) bodySize(body arena.Handle) int { return len(cl.At(body).note) }

func (cl *clubs) free(body arena.Handle) { cl.Release(body) }

func (cl *clubs) linkSize(body arena.Handle) int {
	x := cl.members.At(body)
	return len(x.team) + len(x.mark)
}

func (cl *clubs) freeLink(body arena.Handle) { cl.members.Release(body) }

func (cl *clubs) save(dst []byte, body arena.Handle) []byte {
	r := cl.At(body)
	dst = form.AppendBytes(dst, r.note)
	dst = binary.AppendUvarint(dst, r.joins)
	dst = binary.AppendUvarint(dst, r.meets)
	dst = binary.AppendUvarint(dst, r.met)
	dst = binary.AppendUvarint(dst, uint64(len(r.teams)))
	for _, t := range r.teams {
		dst = form.AppendBytes(dst, t.name)
		dst = binary.AppendUvarint(dst, uint64(t.number))
		dst = binary.AppendUvarint(dst, uint64(t.revision))
	}
	return dst
}

func (cl *clubs) renew(body arena.Handle, _ *renewal) ([]byte, bool) {
	return cl.save(nil, body), true
}

func (cl *clubs) load(src []byte) (arena.Handle, bool) {
	rd := form.Input{Data: src}
	r := club{note: string(rd.Bytes()), joins: rd.Number(), meets: rd.Number(), met: rd.Number()}
	for range min(rd.Number(), uint64(len(src))) {
		t := &team{name: string(rd.Bytes()), number: uint32(rd.Number())}
		t.viewTrack = restoredView(shard.Revision(rd.Number()))
		r.teams = append(r.teams, t)
	}
	h := cl.Alloc()
	*cl.At(h) = r
	return h, rd.Sound() && len(rd.Data) == 0
}

func (cl *clubs) saveLink(dst []byte, body arena.Handle) []byte {
	x := cl.members.At(body)
	return form.AppendBytes(form.AppendBytes(dst, x.team), x.mark)
}

func (cl *clubs) loadLink(src []byte) (arena.Handle, bool) {
	rd := form.Input{Data: src}
	h := cl.members.Alloc()
	*cl.members.At(h) = member{team: string(rd.Bytes()), mark: string(rd.Bytes())}
	return h, rd.Sound() && len(rd.Data) == 0
}

func (cl *clubs) linked(m *Core, object arena.Handle) error {
	o := m.Objects.At(object)
	r := cl.At(o.body)
	r.whole = restoredView(o.revision)
	m.Objects.SetAlarm(object, r.meets)
	for h := m.Holdings.byObject.First(o.links); h != 0; h = m.Holdings.byObject.Next(h) {
		l := m.Holdings.At(h)
		if l.body == 0 || r.team(cl.members.At(l.body).team) == nil {
			return badSnapshot("club %q: order id %d is of no team", o.name, l.order)
		}
		r.team(cl.members.At(l.body).team).count++
	}
	return nil
}

func (cl *clubs) role(*link) string { return "member" }

// view: its number is that of its team, 0 for all of the club.
func (cl *clubs) view(m *Core, object arena.Handle, name string) (view, bool) {
	r := cl.At(m.Objects.At(object).body)
	if name == "" {
		return view{track: &r.whole.track}, true
	}
	if t := r.team(name); t != nil {
		return view{track: &t.track, number: t.number}, true
	}
	return view{}, false
}

func (cl *clubs) teamOf(m *Core, object arena.Handle, v view) *team {
	teams := cl.At(m.Objects.At(object).body).teams
	if i := slices.IndexFunc(teams, func(t *team) bool { return t.number == v.number }); i >= 0 {
		return teams[i]
	}
	return nil
}

func (cl *clubs) describe(m *Core, object arena.Handle, v view, o described, d *shard.Description) {
	describeRows(cl, m, object, v, o, d)
}

func (cl *clubs) changes(m *Core, object arena.Handle, v view, since shard.Revision, d *shard.Delta) bool {
	head := cl.At(m.Objects.At(object).body).whole.head
	if t := cl.teamOf(m, object, v); t != nil {
		head = t.head
	}
	return changeRows(cl, m, object, v, head, since, d)
}

func (cl *clubs) appendHead(dst []byte, m *Core, object arena.Handle, v view) []byte {
	o := m.Objects.At(object)
	if t := cl.teamOf(m, object, v); t != nil {
		return fmt.Appendf(dst, "%s: %d of %d", t.name, t.count, t.number)
	}
	return fmt.Appendf(dst, "%d members, met %d times, note %q", o.linkCount, cl.At(o.body).met, cl.At(o.body).note)
}

// shows reports whether the link is a row of the view.
func (cl *clubs) shows(m *Core, object arena.Handle, v view, link arena.Handle) bool {
	t := cl.teamOf(m, object, v)
	return t == nil || cl.members.At(m.Holdings.At(link).body).team == t.name
}

func (cl *clubs) appendRow(dst []byte, m *Core, object arena.Handle, v view, row uint64) ([]byte, bool) {
	h := m.Holdings.After(m.Objects.At(object).links, shard.OrderID(row)-1)
	if h == 0 || uint64(m.Holdings.At(h).order) != row || !cl.shows(m, object, v, h) {
		return dst, false
	}
	x := cl.members.At(m.Holdings.At(h).body)
	return fmt.Appendf(dst, "%v %s %s", m.Sessions.At(m.Holdings.At(h).session).id, x.team, x.mark), true
}

func (cl *clubs) nextRow(m *Core, object arena.Handle, v view, after uint64) (uint64, bool) {
	h := m.Holdings.After(m.Objects.At(object).links, shard.OrderID(after))
	for h != 0 && !cl.shows(m, object, v, h) {
		h = m.Holdings.byObject.Next(h)
	}
	if h == 0 {
		return 0, false
	}
	return uint64(m.Holdings.At(h).order), true
}

func (cl *clubs) state(m *Core, object arena.Handle, s *shard.State) {
	r := cl.At(m.Objects.At(object).body)
	text := fmt.Sprintf("joined %d times, note %q, met %d times, then at %d, teams", r.joins, r.note, r.met, r.meets)
	for _, t := range r.teams {
		text += fmt.Sprintf(" %s (%d, revision %d)", t.name, t.number, t.revision)
	}
	s.Objects = append(s.Objects, m.Objects.State(object, text, func(l *link) string {
		x := cl.members.At(l.body)
		return x.team + " " + x.mark
	}))
}
