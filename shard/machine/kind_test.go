package machine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// clubs are a second object kind, built only on kind.go and view.go: a named list of members, each in a team and with a
// mark. A club has a note. It is watched as a whole, with all members as rows, or by team. A team exists while it has a
// member.
type clubs struct {
	arena.Slab[club]
	SmallStates
	members arena.Slab[member]
}

type club struct {
	note  string
	joins uint64 // total number of joins
	meets uint64 // next meeting in shard time, 0 for never
	met   uint64 // number of meetings
	whole ViewTrack
	teams []*team // by name
}

type team struct {
	name   string
	number uint32 // unique within its club
	count  int
	ViewTrack
}

type member struct{ team, mark string }

const (
	kindClub shard.ObjectKind = 7

	cmdJoin    shard.CommandKind = 245 // Key: the team, Data: the mark
	cmdMark    shard.CommandKind = 244 // Data: another mark
	cmdNote    shard.CommandKind = 243 // Data: another note
	cmdLeave   shard.CommandKind = 242
	cmdDisband shard.CommandKind = 241
	cmdMeet    shard.CommandKind = 240 // Timeout: milliseconds until the meeting
)

var clubRow = KindRow{Number: kindClub, New: func() Kind { return &clubs{} }, Commands: []CommandRow{
	{Kind: cmdJoin, Mutation: Mutation{Run: ofClubs((*clubs).join),
		Makes: func(*shard.Command) bool { return true }}},
	{Kind: cmdMark, Mutation: Mutation{Run: ofClubs((*clubs).mark)}},
	{Kind: cmdNote, Mutation: Mutation{Run: ofClubs((*clubs).setNote), Anonymous: true}},
	{Kind: cmdLeave, Mutation: Mutation{Run: ofClubs((*clubs).leave)}},
	{Kind: cmdMeet, Mutation: Mutation{Run: ofClubs((*clubs).meet), Anonymous: true}},
	{Kind: cmdDisband, Mutation: Mutation{Run: ofClubs((*clubs).disband), Anonymous: true}},
}}

func init() {
	for i := range clubRow.Commands {
		shard.Commands[clubRow.Commands[i].Kind] = shard.CommandRow{Name: "club"}
	}
}

func ofClubs(run func(*clubs, *Core, *shard.Command, *Target) Outcome) func(*Core, *shard.Command,
	*Target) Outcome {
	return func(m *Core, c *shard.Command, t *Target) Outcome {
		return run(m.kinds[kindClub].(interface{ store() *clubs }).store(), m, c, t)
	}
}

// store is the kind itself, even if a test has wrapped it with a bug.
func (cl *clubs) store() *clubs { return cl }

func (cl *clubs) join(m *Core, c *shard.Command, t *Target) Outcome {
	fresh := t.Object == 0
	more := shard.LinkBytes + len(c.Key) + len(c.Data)
	switch refusal, _ := m.Holdings.Admits(t.Session); {
	case refusal != protocol.StatusSuccess:
		return Outcome{Status: refusal}
	case !fresh && m.Holdings.Find(m.Objects.At(t.Object), t.Object, t.Session) != 0:
		return Outcome{Status: protocol.StatusPreconditionFailed}
	}
	q := shard.QuotaNone
	if fresh {
		q = m.Nodes.Exceeded(t.Node, 1, shard.ObjectBytes+len(c.Name)+more)
	} else {
		q = m.Nodes.Exceeded(t.Node, 0, more)
	}
	if q != shard.QuotaNone {
		return OverQuota(q)
	}
	if fresh {
		t.Object = m.Objects.Add(kindClub, t, c.Node, c.Name, cl.Alloc())
		cl.At(m.Objects.At(t.Object).State).whole = m.History.NewView()
	}
	m.Snapshots.TouchObject(t.Object)
	r := cl.At(m.Objects.At(t.Object).State)
	r.joins++
	bare := *c
	bare.Data = nil
	h := m.Holdings.Add(t.Session, t.Object, &bare, true)
	body := cl.members.Alloc()
	*cl.members.At(body) = member{team: string(c.Key), mark: string(c.Data)}
	m.Holdings.SetState(h, body)
	of := r.team(string(c.Key))
	if of == nil {
		of = &team{name: string(c.Key), number: uint32(r.joins), ViewTrack: m.History.NewView()}
		r.teams = slices.Insert(r.teams, r.place(of.name), of)
	}
	of.count++
	cl.report(m, r, of, h)
	m.Run.PlaceResult()
	if fresh {
		m.Objects.Changed(t.Object, shard.FlagCreated)
	} else {
		m.Objects.Changed(t.Object, shard.FlagOwners)
	}
	return m.Holdings.Acquired(h, 0)
}

// report reports a new, changed or leaving member. The heads contain the number of members.
func (cl *clubs) report(m *Core, r *club, of *team, link arena.Handle) {
	row := uint64(m.Holdings.At(link).Order)
	m.History.RowChanged(&r.whole, row)
	m.History.HeadChanged(&r.whole)
	m.History.RowChanged(&of.ViewTrack, row)
	m.History.HeadChanged(&of.ViewTrack)
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

func (cl *clubs) mark(m *Core, c *shard.Command, t *Target) Outcome {
	h := arena.Handle(0)
	if t.Object != 0 {
		h = m.Holdings.Find(m.Objects.At(t.Object), t.Object, t.Session)
	}
	if h == 0 {
		return Outcome{Status: protocol.StatusNotFound}
	}
	x := cl.members.At(m.Holdings.At(h).State)
	more := len(c.Data) - len(x.mark)
	if q := m.Nodes.Exceeded(t.Node, 0, more); q != shard.QuotaNone {
		return OverQuota(q)
	}
	m.Snapshots.TouchHolding(h)
	m.Nodes.Charge(t.Node, more)
	x.mark = string(c.Data)
	r := cl.At(m.Objects.At(t.Object).State)
	m.Snapshots.TouchObject(t.Object)
	of := r.team(x.team)
	m.History.RowChanged(&r.whole, uint64(m.Holdings.At(h).Order))
	m.History.RowChanged(&of.ViewTrack, uint64(m.Holdings.At(h).Order))
	m.Run.PlaceResult()
	m.Objects.Changed(t.Object, shard.FlagOwners)
	return Outcome{}
}

func (cl *clubs) setNote(m *Core, c *shard.Command, t *Target) Outcome {
	if t.Object == 0 {
		return Outcome{Status: protocol.StatusNotFound}
	}
	r := cl.At(m.Objects.At(t.Object).State)
	more := len(c.Data) - len(r.note)
	if q := m.Nodes.Exceeded(t.Node, 0, more); q != shard.QuotaNone {
		return OverQuota(q)
	}
	m.Snapshots.TouchObject(t.Object)
	m.Nodes.Charge(t.Node, more)
	r.note = string(c.Data)
	m.History.HeadChanged(&r.whole)
	m.Run.PlaceResult()
	m.Objects.Changed(t.Object, shard.FlagData)
	return Outcome{Revision: m.Objects.At(t.Object).Revision}
}

func (cl *clubs) leave(m *Core, c *shard.Command, t *Target) Outcome {
	h := arena.Handle(0)
	if t.Object != 0 {
		h = m.Holdings.Find(m.Objects.At(t.Object), t.Object, t.Session)
	}
	if h == 0 {
		return Outcome{}
	}
	m.Run.PlaceResult()
	cl.ReleaseHolding(m, h)
	return Outcome{Flags: shard.FlagReleased}
}

func (cl *clubs) disband(m *Core, c *shard.Command, t *Target) Outcome {
	if t.Object == 0 {
		return Outcome{Status: protocol.StatusNotFound}
	}
	cl.Remove(m, t.Object)
	return Outcome{}
}

func (cl *clubs) ReleaseHolding(m *Core, h arena.Handle) {
	object := m.Holdings.At(h).Object
	o := m.Objects.At(object)
	if o.Deleting {
		m.Holdings.Remove(h)
		if o.Held == 0 {
			m.Objects.Remove(object)
		}
		return
	}
	m.Snapshots.TouchObject(object)
	r := cl.At(o.State)
	of := r.team(cl.members.At(m.Holdings.At(h).State).team)
	cl.report(m, r, of, h)
	if of.count--; of.count == 0 {
		i := r.place(of.name)
		r.teams = slices.Delete(r.teams, i, i+1)
	}
	m.Holdings.Remove(h)
	m.Objects.Changed(object, shard.FlagOwners)
}

func (cl *clubs) Remove(m *Core, object arena.Handle) {
	o := m.Objects.At(object)
	for o.Held > 0 && m.Run.Left > 0 {
		h := m.Holdings.First(o)
		m.Holdings.Emit(shard.EffectLost, h)
		m.Holdings.Remove(h)
	}
	if !o.Deleting {
		m.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	if o.Held == 0 {
		m.Objects.Remove(object)
		return
	}
	o.Deleting = true
	m.Pending.Defer(object)
}

func (cl *clubs) Resume(*Core, arena.Handle) {}

func (cl *clubs) meet(m *Core, c *shard.Command, t *Target) Outcome {
	if t.Object == 0 {
		return Outcome{Status: protocol.StatusNotFound}
	}
	m.Snapshots.TouchObject(t.Object)
	r := cl.At(m.Objects.At(t.Object).State)
	r.meets = m.Clock.After(c.Timeout)
	m.Objects.SetAlarm(t.Object, r.meets)
	m.History.HeadChanged(&r.whole)
	m.Run.PlaceResult()
	m.Objects.Changed(t.Object, shard.FlagData)
	return Outcome{}
}

func (cl *clubs) Due(m *Core, object, _ arena.Handle) {
	m.Snapshots.TouchObject(object)
	r := cl.At(m.Objects.At(object).State)
	r.meets, r.met = 0, r.met+1
	m.History.HeadChanged(&r.whole)
	m.Objects.Changed(object, shard.FlagData)
}

func (cl *clubs) StateSize(body arena.Handle) int { return len(cl.At(body).note) }

func (cl *clubs) FreeState(body arena.Handle) { cl.Release(body) }

func (cl *clubs) HoldingSize(body arena.Handle) int {
	x := cl.members.At(body)
	return len(x.team) + len(x.mark)
}

func (cl *clubs) FreeHolding(body arena.Handle) { cl.members.Release(body) }

func (cl *clubs) Save(dst []byte, body arena.Handle) []byte {
	r := cl.At(body)
	dst = codec.AppendBytes(dst, r.note)
	dst = binary.AppendUvarint(dst, r.joins)
	dst = binary.AppendUvarint(dst, r.meets)
	dst = binary.AppendUvarint(dst, r.met)
	dst = binary.AppendUvarint(dst, uint64(len(r.teams)))
	for _, t := range r.teams {
		dst = codec.AppendBytes(dst, t.name)
		dst = binary.AppendUvarint(dst, uint64(t.number))
		dst = binary.AppendUvarint(dst, uint64(t.Revision))
	}
	return dst
}

func (cl *clubs) Shift(body arena.Handle, moment func(uint64) uint64) {
	cl.At(body).meets = moment(cl.At(body).meets)
}

func (cl *clubs) ShiftHolding(arena.Handle, func(uint64) uint64) {}

func (cl *clubs) Renew(body arena.Handle, _ *StateRenewal) ([]byte, bool) {
	return cl.Save(nil, body), true
}

func (cl *clubs) Load(src []byte) (arena.Handle, bool) {
	rd := codec.Input{Data: src}
	r := club{note: string(rd.Bytes()), joins: rd.Number(), meets: rd.Number(), met: rd.Number()}
	for range min(rd.Number(), uint64(len(src))) {
		t := &team{name: string(rd.Bytes()), number: uint32(rd.Number())}
		t.ViewTrack = RestoredView(shard.Revision(rd.Number()))
		r.teams = append(r.teams, t)
	}
	h := cl.Alloc()
	*cl.At(h) = r
	return h, rd.Sound() && len(rd.Data) == 0
}

func (cl *clubs) SaveHolding(dst []byte, body arena.Handle) []byte {
	x := cl.members.At(body)
	return codec.AppendBytes(codec.AppendBytes(dst, x.team), x.mark)
}

func (cl *clubs) LoadHolding(src []byte) (arena.Handle, bool) {
	rd := codec.Input{Data: src}
	h := cl.members.Alloc()
	*cl.members.At(h) = member{team: string(rd.Bytes()), mark: string(rd.Bytes())}
	return h, rd.Sound() && len(rd.Data) == 0
}

func (cl *clubs) Linked(m *Core, object arena.Handle) error {
	o := m.Objects.At(object)
	r := cl.At(o.State)
	r.whole = RestoredView(o.Revision)
	m.Objects.SetAlarm(object, r.meets)
	for h := m.Holdings.First(o); h != 0; h = m.Holdings.Next(h) {
		l := m.Holdings.At(h)
		if l.State == 0 || r.team(cl.members.At(l.State).team) == nil {
			return BadSnapshot("club %q: order id %d is of no team", o.name, l.Order)
		}
		r.team(cl.members.At(l.State).team).count++
	}
	return nil
}

func (cl *clubs) Role(*Holding) string { return "member" }

// View: its number is its team's number, 0 for the whole club.
func (cl *clubs) View(m *Core, object arena.Handle, name string) (View, bool) {
	r := cl.At(m.Objects.At(object).State)
	if name == "" {
		return View{track: &r.whole.track}, true
	}
	if t := r.team(name); t != nil {
		return View{track: &t.track, Number: t.number}, true
	}
	return View{}, false
}

func (cl *clubs) teamOf(m *Core, object arena.Handle, v View) *team {
	teams := cl.At(m.Objects.At(object).State).teams
	if i := slices.IndexFunc(teams, func(t *team) bool { return t.number == v.Number }); i >= 0 {
		return teams[i]
	}
	return nil
}

func (cl *clubs) Describe(m *Core, object arena.Handle, v View, o Described, d *shard.Description) {
	DescribeRows(cl, m, object, v, o, d)
}

func (cl *clubs) Changes(m *Core, object arena.Handle, v View, since shard.Revision, d *shard.Delta) bool {
	head := cl.At(m.Objects.At(object).State).whole.Head
	if t := cl.teamOf(m, object, v); t != nil {
		head = t.Head
	}
	return ChangeRows(cl, m, object, v, head, since, d)
}

func (cl *clubs) AppendHead(dst []byte, m *Core, object arena.Handle, v View) []byte {
	o := m.Objects.At(object)
	if t := cl.teamOf(m, object, v); t != nil {
		return fmt.Appendf(dst, "%s: %d of %d", t.name, t.count, t.number)
	}
	return fmt.Appendf(dst, "%d members, met %d times, note %q", o.Held, cl.At(o.State).met, cl.At(o.State).note)
}

// shows reports whether the link is a row in the view.
func (cl *clubs) shows(m *Core, object arena.Handle, v View, link arena.Handle) bool {
	t := cl.teamOf(m, object, v)
	return t == nil || cl.members.At(m.Holdings.At(link).State).team == t.name
}

func (cl *clubs) AppendRow(dst []byte, m *Core, object arena.Handle, v View, row uint64) ([]byte, bool) {
	h := m.Holdings.After(m.Objects.At(object), shard.OrderID(row)-1)
	if h == 0 || uint64(m.Holdings.At(h).Order) != row || !cl.shows(m, object, v, h) {
		return dst, false
	}
	x := cl.members.At(m.Holdings.At(h).State)
	return fmt.Appendf(dst, "%v %s %s", m.Sessions.ID(m.Holdings.At(h).Session), x.team, x.mark), true
}

func (cl *clubs) NextRow(m *Core, object arena.Handle, v View, after uint64) (uint64, bool) {
	h := m.Holdings.After(m.Objects.At(object), shard.OrderID(after))
	for h != 0 && !cl.shows(m, object, v, h) {
		h = m.Holdings.Next(h)
	}
	if h == 0 {
		return 0, false
	}
	return uint64(m.Holdings.At(h).Order), true
}

func (cl *clubs) AppendState(m *Core, object arena.Handle, s *shard.State) {
	r := cl.At(m.Objects.At(object).State)
	text := fmt.Sprintf("joined %d times, note %q, met %d times, then at %d, teams", r.joins, r.note, r.met, r.meets)
	for _, t := range r.teams {
		text += fmt.Sprintf(" %s (%d, revision %d)", t.name, t.number, t.Revision)
	}
	s.Objects = append(s.Objects, m.Objects.State(object, text, func(l *Holding) string {
		x := cl.members.At(l.State)
		return x.team + " " + x.mark
	}))
}
