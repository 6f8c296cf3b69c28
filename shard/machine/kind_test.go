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

func ofClubs(run func(*clubs, *Machine, *shard.Command, *target)) func(*Machine, *shard.Command, *target) {
	return func(m *Machine, c *shard.Command, t *target) {
		run(m.kinds[kindClub].(interface{ store() *clubs }).store(), m, c, t)
	}
}

// store is the kind itself, also where a test has put a mistake before it.
func (cl *clubs) store() *clubs { return cl }

func (cl *clubs) join(m *Machine, c *shard.Command, t *target) {
	fresh := t.object == 0
	more := shard.LinkBytes + len(c.Key) + len(c.Data)
	switch refusal, _ := m.admitsLink(t.session); {
	case refusal != protocol.StatusSuccess:
		m.answer(refusal)
		return
	case !fresh && m.links.find(m.objects.At(t.object), t.object, t.session) != 0:
		m.answer(protocol.StatusPreconditionFailed)
		return
	case fresh && !m.mayGrow(t.node, 1, shard.ObjectBytes+len(c.Name)+more), !fresh && !m.mayGrow(t.node, 0, more):
		return
	}
	if fresh {
		t.object = m.addObject(kindClub, t, c.Node, c.Name, cl.Alloc())
		cl.At(m.objects.At(t.object).body).whole = m.newView()
	}
	m.touchObject(t.object)
	r := cl.At(m.objects.At(t.object).body)
	r.joins++
	bare := *c
	bare.Data = nil
	h := m.addLink(t.session, t.object, &bare, true)
	body := cl.members.Alloc()
	*cl.members.At(body) = member{team: string(c.Key), mark: string(c.Data)}
	m.setBody(h, body)
	of := r.team(string(c.Key))
	if of == nil {
		of = &team{name: string(c.Key), number: uint32(r.joins), viewTrack: m.newView()}
		r.teams = slices.Insert(r.teams, r.place(of.name), of)
	}
	of.count++
	cl.report(m, r, of, h)
	m.answerAcquired(h, 0)
	if fresh {
		m.changed(t.object, shard.FlagCreated)
	} else {
		m.changed(t.object, shard.FlagOwners)
	}
}

// report notes that a member came, changed or goes. The heads say how many there are.
func (cl *clubs) report(m *Machine, r *club, of *team, link arena.Handle) {
	row := uint64(m.links.At(link).order)
	m.rowChanged(&r.whole, row)
	m.headChanged(&r.whole)
	m.rowChanged(&of.viewTrack, row)
	m.headChanged(&of.viewTrack)
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

func (cl *clubs) mark(m *Machine, c *shard.Command, t *target) {
	h := arena.Handle(0)
	if t.object != 0 {
		h = m.links.find(m.objects.At(t.object), t.object, t.session)
	}
	if h == 0 {
		m.answer(protocol.StatusNotFound)
		return
	}
	x := cl.members.At(m.links.At(h).body)
	more := len(c.Data) - len(x.mark)
	if !m.mayGrow(t.node, 0, more) {
		return
	}
	m.touchLink(h)
	m.charge(t.node, more)
	x.mark = string(c.Data)
	r := cl.At(m.objects.At(t.object).body)
	m.touchObject(t.object)
	of := r.team(x.team)
	m.rowChanged(&r.whole, uint64(m.links.At(h).order))
	m.rowChanged(&of.viewTrack, uint64(m.links.At(h).order))
	m.answer(protocol.StatusSuccess)
	m.changed(t.object, shard.FlagOwners)
}

func (cl *clubs) setNote(m *Machine, c *shard.Command, t *target) {
	if t.object == 0 {
		m.answer(protocol.StatusNotFound)
		return
	}
	r := cl.At(m.objects.At(t.object).body)
	more := len(c.Data) - len(r.note)
	if !m.mayGrow(t.node, 0, more) {
		return
	}
	m.touchObject(t.object)
	m.charge(t.node, more)
	r.note = string(c.Data)
	m.headChanged(&r.whole)
	m.answer(protocol.StatusSuccess).Revision = m.lastRevision + 1
	m.changed(t.object, shard.FlagData)
}

func (cl *clubs) leave(m *Machine, c *shard.Command, t *target) {
	h := arena.Handle(0)
	if t.object != 0 {
		h = m.links.find(m.objects.At(t.object), t.object, t.session)
	}
	if h == 0 {
		m.answer(protocol.StatusSuccess)
		return
	}
	m.answer(protocol.StatusSuccess).Flags = shard.FlagReleased
	cl.releaseLink(m, h)
}

func (cl *clubs) disband(m *Machine, c *shard.Command, t *target) {
	if t.object == 0 {
		m.answer(protocol.StatusNotFound)
		return
	}
	cl.remove(m, t.object)
	m.answer(protocol.StatusSuccess)
}

func (cl *clubs) releaseLink(m *Machine, h arena.Handle) {
	object := m.links.At(h).object
	o := m.objects.At(object)
	if o.deleting {
		m.removeLink(h)
		if o.linkCount == 0 {
			m.removeObject(object)
		}
		return
	}
	m.touchObject(object)
	r := cl.At(o.body)
	of := r.team(cl.members.At(m.links.At(h).body).team)
	cl.report(m, r, of, h)
	if of.count--; of.count == 0 {
		i := r.place(of.name)
		r.teams = slices.Delete(r.teams, i, i+1)
	}
	m.removeLink(h)
	m.changed(object, shard.FlagOwners)
}

func (cl *clubs) remove(m *Machine, object arena.Handle) {
	o := m.objects.At(object)
	for o.linkCount > 0 && m.left > 0 {
		h := m.links.byObject.First(o.links)
		m.emitFor(shard.EffectLost, h)
		m.removeLink(h)
	}
	if !o.deleting {
		m.changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	if o.linkCount == 0 {
		m.removeObject(object)
		return
	}
	o.deleting = true
	m.deferObject(object)
}

func (cl *clubs) resume(*Machine, arena.Handle) {}

func (cl *clubs) meet(m *Machine, c *shard.Command, t *target) {
	if t.object == 0 {
		m.answer(protocol.StatusNotFound)
		return
	}
	m.touchObject(t.object)
	r := cl.At(m.objects.At(t.object).body)
	r.meets = m.clock.After(c.Timeout)
	m.setAlarm(t.object, r.meets)
	m.headChanged(&r.whole)
	m.answer(protocol.StatusSuccess)
	m.changed(t.object, shard.FlagData)
}

func (cl *clubs) due(m *Machine, object arena.Handle) {
	m.touchObject(object)
	r := cl.At(m.objects.At(object).body)
	r.meets, r.met = 0, r.met+1
	m.headChanged(&r.whole)
	m.changed(object, shard.FlagData)
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

func (cl *clubs) linked(m *Machine, object arena.Handle) error {
	o := m.objects.At(object)
	r := cl.At(o.body)
	r.whole = restoredView(o.revision)
	m.setAlarm(object, r.meets)
	for h := m.links.byObject.First(o.links); h != 0; h = m.links.byObject.Next(h) {
		l := m.links.At(h)
		if l.body == 0 || r.team(cl.members.At(l.body).team) == nil {
			return badSnapshot("club %q: order id %d is of no team", o.name, l.order)
		}
		r.team(cl.members.At(l.body).team).count++
	}
	return nil
}

func (cl *clubs) role(*link) string { return "member" }

// view: its number is that of its team, 0 for all of the club.
func (cl *clubs) view(m *Machine, object arena.Handle, name string) (view, bool) {
	r := cl.At(m.objects.At(object).body)
	if name == "" {
		return view{track: &r.whole.track}, true
	}
	if t := r.team(name); t != nil {
		return view{track: &t.track, number: t.number}, true
	}
	return view{}, false
}

func (cl *clubs) teamOf(m *Machine, object arena.Handle, v view) *team {
	teams := cl.At(m.objects.At(object).body).teams
	if i := slices.IndexFunc(teams, func(t *team) bool { return t.number == v.number }); i >= 0 {
		return teams[i]
	}
	return nil
}

func (cl *clubs) describe(m *Machine, object arena.Handle, v view, o described, d *shard.Description) {
	describeRows(cl, m, object, v, o, d)
}

func (cl *clubs) changes(m *Machine, object arena.Handle, v view, since shard.Revision, d *shard.Delta) bool {
	head := cl.At(m.objects.At(object).body).whole.head
	if t := cl.teamOf(m, object, v); t != nil {
		head = t.head
	}
	return changeRows(cl, m, object, v, head, since, d)
}

func (cl *clubs) appendHead(dst []byte, m *Machine, object arena.Handle, v view) []byte {
	o := m.objects.At(object)
	if t := cl.teamOf(m, object, v); t != nil {
		return fmt.Appendf(dst, "%s: %d of %d", t.name, t.count, t.number)
	}
	return fmt.Appendf(dst, "%d members, met %d times, note %q", o.linkCount, cl.At(o.body).met, cl.At(o.body).note)
}

// shows reports whether the link is a row of the view.
func (cl *clubs) shows(m *Machine, object arena.Handle, v view, link arena.Handle) bool {
	t := cl.teamOf(m, object, v)
	return t == nil || cl.members.At(m.links.At(link).body).team == t.name
}

func (cl *clubs) appendRow(dst []byte, m *Machine, object arena.Handle, v view, row uint64) ([]byte, bool) {
	h := m.linkAfter(m.objects.At(object).links, shard.OrderID(row)-1)
	if h == 0 || uint64(m.links.At(h).order) != row || !cl.shows(m, object, v, h) {
		return dst, false
	}
	x := cl.members.At(m.links.At(h).body)
	return fmt.Appendf(dst, "%v %s %s", m.sessions.At(m.links.At(h).session).id, x.team, x.mark), true
}

func (cl *clubs) nextRow(m *Machine, object arena.Handle, v view, after uint64) (uint64, bool) {
	h := m.linkAfter(m.objects.At(object).links, shard.OrderID(after))
	for h != 0 && !cl.shows(m, object, v, h) {
		h = m.links.byObject.Next(h)
	}
	if h == 0 {
		return 0, false
	}
	return uint64(m.links.At(h).order), true
}

func (cl *clubs) state(m *Machine, object arena.Handle, s *shard.State) {
	r := cl.At(m.objects.At(object).body)
	text := fmt.Sprintf("joined %d times, note %q, met %d times, then at %d, teams", r.joins, r.note, r.met, r.meets)
	for _, t := range r.teams {
		text += fmt.Sprintf(" %s (%d, revision %d)", t.name, t.number, t.revision)
	}
	s.Objects = append(s.Objects, m.objectState(object, text, func(l *link) string {
		x := cl.members.At(l.body)
		return x.team + " " + x.mark
	}))
}
