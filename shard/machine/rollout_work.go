package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/rollout"
)

// rolloutWork is one command on one rollout, from the beginning to the report of all changes. At most one is under
// way.
type rolloutWork struct {
	*rollouts
	m       *Core
	object  arena.Handle
	session arena.Handle // zero for a command without a session
	staged  *stagedRollout
	at      rollout.At

	// The part of the session, for commands about the part: its link, and its size before the command.
	link    arena.Handle
	part    *rolloutPart
	charged int
	fresh   int // bytes of a new link, besides texts

	body string // of the answer
	out  rollout.Effects
}

// run applies a command on an existing rollout.
func (ro *rollouts) run(m *Core, c *shard.Command, t *Target,
	does func(*rolloutWork, *shard.Command) rollout.Answer) {
	if t.Object == 0 {
		m.Run.Refuse(protocol.StatusNotFound, "there is no rollout of this name")
		return
	}
	w := ro.begin(m, t.Object, t.Session)
	a := does(w, c)
	ro.counts.countVersion(c.Kind, &a)
	w.answer(a)
	w.finish(0)
}

// begin prepares a command on a rollout, and preserves the rollout's record first. Every begin must be ended by
// finish.
func (ro *rollouts) begin(m *Core, object, session arena.Handle) *rolloutWork {
	m.Snapshots.TouchObject(object)
	w := &ro.work
	w.out.Reset()
	*w = rolloutWork{
		rollouts: ro, m: m, object: object, session: session, staged: ro.At(m.Objects.At(object).State), out: w.out,
	}
	w.at = ro.now(m)
	w.at.Room = w
	return w
}

// now is the time and the revision of the command under way.
func (ro *rollouts) now(m *Core) rollout.At {
	return rollout.At{Now: m.Clock.Now, Wall: m.Run.Wall, Revision: uint64(m.NextRevision()), Out: &ro.work.out}
}

// MayGrow reports whether the quotas have room for more bytes. If not, MayGrow answers the command.
func (w *rolloutWork) MayGrow(bytes int) bool {
	return w.m.Nodes.MayGrow(w.m.Objects.Node(w.m.Objects.At(w.object)), 0, bytes+w.fresh)
}

// answer answers the command, unless MayGrow has refused and answered already.
func (w *rolloutWork) answer(a rollout.Answer) *shard.Effect {
	switch a.Status {
	case protocol.StatusQuotaExceeded:
		return nil
	case protocol.StatusSuccess:
		e := w.m.Run.Answer(protocol.StatusSuccess)
		e.Order, e.Body = shard.OrderID(a.Number), w.body
		return e
	default:
		return w.m.Run.Refuse(a.Status, a.Text)
	}
}

// finish reports what the command has changed: to the quotas, to the alarm, and to the readers of views.
func (w *rolloutWork) finish(flags shard.EffectFlags) {
	m, st := w.m, w.staged
	o := m.Objects.At(w.object)
	m.Nodes.Charge(m.Objects.Node(o), st.Size()-st.charged)
	st.charged = st.Size()
	if w.part != nil {
		m.Nodes.Charge(m.Objects.Node(o), w.part.instance.Size()-w.charged)
	}
	if due, _ := st.NextDue(); due != st.alarm {
		m.Objects.SetAlarm(w.object, due)
		st.alarm = due
	}
	if w.reportViews() || flags != 0 {
		m.Objects.Changed(w.object, flags|shard.FlagData|shard.FlagOwners)
	}
	w.counts.countEvents(w.out.Events)
	w.part, w.at.Out = nil, nil
}

// reportViews notes all changed heads and rows of views, and reports whether there are any.
func (w *rolloutWork) reportViews() (any bool) {
	m, st := w.m, w.staged
	st.followLocations(m)
	if st.HeadRevision() == w.at.Revision {
		m.History.HeadChanged(&st.whole)
		any = true
	}
	if st.TicketRevision() == w.at.Revision {
		m.History.HeadChanged(&st.ticket)
		any = true
	}
	for _, l := range st.Locations() {
		if l.Revision == w.at.Revision {
			m.History.HeadChanged(&st.locationOf(l.ID).instances)
		}
		if l.TargetRevision == w.at.Revision {
			m.History.HeadChanged(&st.locationOf(l.ID).target)
		}
	}
	for _, row := range w.out.Rows {
		if row.Location == 0 {
			m.History.RowChanged(&st.whole, row.ID)
			any = true
		} else if of := st.locationOf(row.Location); of != nil {
			m.History.RowChanged(&of.instances, row.ID)
			any = true
		}
	}
	return any
}

// followLocations makes the tracks again after a change of the list of locations.
func (st *stagedRollout) followLocations(m *Core) {
	locations := st.Locations()
	same := len(st.tracks) == len(locations)
	for k := 0; same && k < len(locations); k++ {
		same = st.tracks[k].id == locations[k].ID
	}
	if same {
		return
	}
	tracks := make([]locationTracks, len(locations))
	for k, l := range locations {
		if old := st.locationOf(l.ID); old != nil {
			tracks[k] = *old
			continue
		}
		tracks[k] = locationTracks{id: l.ID, target: m.History.NewView(), instances: m.History.NewView()}
	}
	st.tracks = tracks
}
